-- By which Apple lets a merchant's pages ask for a payment.

ALTER TABLE wallet_key
  DROP CONSTRAINT wallet_known,
  ADD CONSTRAINT wallet_known CHECK (type IN ('apple_pay', 'apple_pay_identity', 'google_pay'));
