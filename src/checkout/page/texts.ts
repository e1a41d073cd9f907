// Every word that payers read. A further language is a further object of this form.

export const ENGLISH = {
  language: 'en',
  pay: (amount: string) => `Pay ${amount}`,
  hold: (amount: string) => `Authorise ${amount}`,
  save: 'Save',
  title: (merchant: string) => `Pay ${merchant}`,
  titleOfTokenise: (merchant: string) => `Your details for ${merchant}`,
  description: 'Description',
  reference: 'Reference',
  amount: 'Amount',
  total: 'Total',
  surchargeAdded: (added: string) => `Surcharge of ${added} included`,
  surchargeByCard: 'What you pay depends on how you pay:',
  nothingAdded: 'no surcharge',
  test: 'Test: no money moves. Pay with the card number 4111 1111 1111 1111, any later date, and any security code.',
  method: 'How do you want to pay?',
  creditcard: 'Card',
  bankaccount: 'Bank account',
  number: 'Card number',
  expiry: 'Expiry date',
  expiryHint: 'Month and year, as on the card: 12/30',
  cvv: 'Security code',
  cvvHint: 'Three digits on the back, or four on the front',
  name: 'Name on the card',
  keep: (merchant: string) => `Keep this card, so that I need not enter it for ${merchant} again`,
  bsb: 'BSB',
  bsbHint: 'Six digits',
  accountNumber: 'Account number',
  accountName: 'Name of the account',
  agreementTitle: 'Direct debit request',
  agreement: (merchant: string, amount: string) =>
    `I ask ${merchant} to debit ${amount} from this account, once, through the Bulk Electronic Clearing System. It takes some business days. If the money is not there, my bank may charge a fee. I can ask ${merchant} or my bank to cancel, or dispute the debit.`,
  agreementToKeep: (merchant: string) =>
    `I ask ${merchant} to debit this account through the Bulk Electronic Clearing System, for amounts that I agree to. I can ask ${merchant} or my bank to cancel at any time, or dispute a debit.`,
  agree: 'I own this account, or may debit it, and agree to this.',
  back: (merchant: string) => `Back to ${merchant}`,
  payWith: (amount: string, wallet: string) => `Pay ${amount} with ${wallet}`,
  holdWith: (amount: string, wallet: string) => `Authorise ${amount} with ${wallet}`,
  google_pay: 'Google Pay',
  apple_pay: 'Apple Pay',
  walletFailed: 'That did not work, and you have not been charged. Please enter your details below.',
  otherwise: 'Or enter your details:',
  safe: 'Your details go to the payment service, and not to the shop.',
  until: (time: string) => `You can pay until ${time}.`,
  wait: 'One moment …',
  wrong: 'Please correct what is marked. You have not been charged.',
  changed:
    'What you would pay has changed. Please look at the amount, and enter your details again. You have not been charged.',
  try_again_later:
    'Your bank could not be asked just now. You have not been charged. Try again in a few minutes, or use another card.',
  try_another_card:
    'Your bank did not approve this card. You have not been charged. Please use another card.',
  contact_bank:
    'Your bank did not approve this card. You have not been charged. Ask your bank, or use another card.',
  fix_details:
    'Your bank does not recognise these details. You have not been charged. Check the number, the expiry date and the security code, or use another card.',
  do_not_retry:
    'Your bank did not approve this card. You have not been charged. Do not try this card again; use another one.',
  declinedAccount: 'This account could not be debited. You have not been charged.',
  failed: 'That did not work, and you have not been charged. Please try again.',
  limited:
    'This was tried too often in a short time. You have not been charged. Wait ten minutes, or use another card.',
  left: (count: number) => (count === 1 ? 'You can try once more.' : `You can try ${count} more times.`),
  processingTitle: 'Your payment is being checked',
  processing:
    'We are waiting for your bank. Do not pay again, and you can leave this page open: it shows what has come of it.',
  completeTitle: 'Thank you: you have paid',
  completeHeld: 'Thank you: the amount is authorised',
  completeKept: 'Thank you: your details are saved',
  complete: (amount: string, merchant: string) => `${amount} to ${merchant}.`,
  number_: (audit: number) => `Number of the payment: ${audit}`,
  expiredTitle: 'This page has expired',
  expired: 'You have not been charged. Ask the shop for a new link if you still want to pay.',
  usedUpTitle: 'This did not work',
  usedUp: 'There are no tries left, and you have not been charged. Ask the shop for another way to pay.',
  cancelledTitle: 'There is nothing to pay any more',
  cancelled: 'The shop has withdrawn this. You have not been charged.',
  unknownTitle: 'There is no such page',
  unknown: 'Check the address, or ask the shop for a new link.',
  movedTitle: 'This page has moved',
  moved: 'It is at another address now. If you had paid, that stays: nobody pays twice here.',
  movedOn: 'Go on there',
  movedNowhere: 'Ask the shop for the new link.',
  awayTitle: 'This does not work at the moment',
  away: 'Wait a minute and load this page again. If you had paid, it will show that. Nobody pays twice here.',
  problems: {
    number: 'This is not a card number: check its digits.',
    numberMissing: 'Enter the number of your card.',
    expiry: 'Enter month and year, such as 12/30.',
    expired: 'This card has expired.',
    cvv: 'Enter the three or four digits of the security code.',
    name: 'Enter the name as it is on the card, with letters and common punctuation.',
    bsb: 'Enter the six digits of the BSB.',
    accountNumber: 'Enter the account number: two to nine digits.',
    accountName: 'Enter the name of the account, 32 characters at most, with letters and common punctuation.',
    agree: 'Without your agreement the account cannot be debited.',
    method: 'Choose how you want to pay.',
  },
} as const;

export type Texts = typeof ENGLISH;
export type FieldProblem = keyof Texts['problems'];

/** Which agreement a payer has seen, for the journal. It changes with its words. */
export const AGREEMENT = '2026-11';
