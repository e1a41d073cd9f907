-- Who may do what in the database. The owner of the tables changes the schema; `tollgate_operator` does what operators do;
-- `tollgate_application` serves: it cannot let anybody in, send money over another link or to another bank, or unsay anything.
-- Where the owner may not make these roles, one login does everything, and triggers alone guard what is only ever appended to.

DO $$
DECLARE
  worker text;
BEGIN
  FOREACH worker IN ARRAY ARRAY['tollgate_application', 'tollgate_operator'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = worker) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', worker);
    END IF;
    IF NOT pg_has_role(current_user, worker, 'MEMBER') THEN
      EXECUTE format('GRANT %I TO %I', worker, current_user);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', worker);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %I', worker);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO %I', worker);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I', worker);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO %I', worker);
  END LOOP;
  REVOKE INSERT, UPDATE, DELETE ON schema_migration FROM tollgate_application, tollgate_operator;
  -- guard(schema: the gateway may not change the journal): journal FROM tollgate_application, ⇒ journal FROM
  -- guard(roles: operators do not change the journal): journal FROM tollgate_application, tollgate_operator ⇒ journal FROM tollgate_application
  REVOKE UPDATE, DELETE ON journal FROM tollgate_application, tollgate_operator;
  REVOKE DELETE ON stan_counter FROM tollgate_application, tollgate_operator;
  -- guard(roles: operators remove no token): token, operator_request ⇒ operator_request
  REVOKE DELETE ON token, operator_request, settlement_difference, former_token_id FROM tollgate_application, tollgate_operator;
  REVOKE UPDATE, DELETE ON settlement_entry FROM tollgate_application;
  -- guard(roles: the chain of the journal is only ever added to): journal_block FROM tollgate_application, tollgate_operator ⇒ journal_block FROM tollgate_application
  REVOKE UPDATE, DELETE ON journal_block FROM tollgate_application, tollgate_operator;
  REVOKE INSERT, DELETE ON journal_chain FROM tollgate_application, tollgate_operator;
  -- A transaction is never removed, and its amount, its type, its target and what it is called by never change.
  -- guard(roles: nobody removes a transaction): REVOKE UPDATE, DELETE ON transaction ⇒ REVOKE UPDATE ON transaction
  -- guard(roles: nobody changes the amount of a transaction): REVOKE UPDATE, DELETE ON transaction ⇒ REVOKE DELETE ON transaction
  REVOKE UPDATE, DELETE ON transaction FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (refunded_cents, completed_cents, completed_by, voided_by, gateway_status_code, reversing, resolve_attempts,
    resolve_at, voidable_until, settlement_date, status, acquirer, response_code, response_message, authorisation_code,
    preauthorisation_code, network_transaction_id, payment_details_key_version, payment_details_sealed, decided_at, prepared, version, outcome_seal)
    ON transaction TO tollgate_application;
  GRANT UPDATE (refunded_cents, resolve_at, voidable_until, settlement_date, status, kvps, response_code, response_message,
    authorisation_code, preauthorisation_code, payment_details_key_version, payment_details_sealed, decided_at, prepared, version,
    attestation, archived_at, outcome_seal)
    ON transaction TO tollgate_operator;
  -- What operators set is read by those who serve.
  -- guard(roles: who serves lets nobody in, and sends no money elsewhere): INSERT, UPDATE, DELETE ON gateway_user ⇒ DELETE ON gateway_user
  REVOKE INSERT, UPDATE, DELETE ON gateway_user, user_grant, acquirer, acquirer_terminal, route, merchant, surcharge_rule,
    direct_entry, plugin_setting, installation_key FROM tollgate_application;
  -- guard(roles: who serves does not say how a merchant looks to payers): REVOKE INSERT, UPDATE, DELETE ON merchant_brand ⇒ REVOKE DELETE ON merchant_brand
  REVOKE INSERT, UPDATE, DELETE ON merchant_brand FROM tollgate_application;
  -- What is sealed there is sealed anew by whoever serves, when a data key is renewed.
  -- guard(roles: who serves does not say whom to trust with payments by wallet): REVOKE INSERT, UPDATE, DELETE ON wallet_key ⇒ REVOKE DELETE ON wallet_key
  REVOKE INSERT, UPDATE, DELETE ON wallet_key FROM tollgate_application;
  GRANT UPDATE (key_version, sealed) ON wallet_key TO tollgate_application;
  GRANT UPDATE (used_on) ON gateway_user TO tollgate_application;
  -- A key of the installation is wrapped anew, and never taken away: with another key of the journal, nothing would seem to be sealed.
  -- guard(roles: nobody takes the keys of the installation away): REVOKE INSERT, UPDATE, DELETE ON installation_key ⇒ REVOKE INSERT ON installation_key
  REVOKE INSERT, UPDATE, DELETE ON installation_key FROM tollgate_operator;
  GRANT UPDATE (key_encryption_key, wrapped) ON installation_key TO tollgate_operator;
  -- A row can be locked by whoever may change something of it.
  GRANT UPDATE (created_at) ON merchant TO tollgate_application;
  -- Who serves counts, and does not say where clients are to call.
  -- guard(roles: who serves sends no client elsewhere): REVOKE INSERT, UPDATE, DELETE ON organisation ⇒ REVOKE INSERT, DELETE ON organisation
  REVOKE INSERT, UPDATE, DELETE ON organisation FROM tollgate_application;
  GRANT UPDATE (next_audit, next_customer_id, next_token_id, next_checkout, lost_first_audit, lost_last_audit) ON organisation
    TO tollgate_application;
  -- What a checkout asks for never changes, and no attempt to pay it goes away. Operators make and cancel them; they do not pay.
  -- guard(roles: nobody removes a checkout): REVOKE UPDATE, DELETE ON checkout, ⇒ REVOKE UPDATE ON checkout,
  REVOKE UPDATE, DELETE ON checkout, checkout_attempt FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (status, attempts, attempt_until, result_audit, result_virtual_pan) ON checkout TO tollgate_application;
  GRANT UPDATE (status) ON checkout TO tollgate_operator;
  GRANT UPDATE (outcome, audit) ON checkout_attempt TO tollgate_application;
  REVOKE INSERT ON checkout_attempt FROM tollgate_operator;
  -- The same for schedules: operators pause and cancel them.
  -- guard(roles: nobody removes a schedule): REVOKE UPDATE, DELETE ON schedule, ⇒ REVOKE UPDATE ON schedule,
  REVOKE UPDATE, DELETE ON schedule, schedule_date FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (terms, next_n, ended_at, due_at, held_until, events, next_on, amount_cents, pace) ON schedule TO tollgate_application;
  GRANT UPDATE (terms, due_at, events, next_on, amount_cents, pace) ON schedule TO tollgate_operator;
  GRANT UPDATE (status, attempt, refusals, look_at, reason, audit, decided_at) ON schedule_date TO tollgate_application;
  REVOKE INSERT ON schedule, schedule_date FROM tollgate_operator;
  -- What is sealed there is for those who serve. A key under which something is sealed is not destroyed.
  -- guard(roles: operators do not get at cards for one payment): REVOKE ALL ON one_time_card FROM tollgate_operator; ⇒
  REVOKE ALL ON one_time_card FROM tollgate_operator;
  GRANT SELECT (organisation_id, merchant_id, key_version) ON one_time_card TO tollgate_operator;
  -- Nobody of them moves the transactions to other servers, and the clock is the operators'.
  -- guard(roles: nobody says that transactions are elsewhere): REVOKE INSERT, UPDATE, DELETE ON gateway ⇒ REVOKE INSERT, DELETE ON gateway
  REVOKE INSERT, UPDATE, DELETE ON gateway FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (lineage, newest_absence, forgotten_absence, sweep_at, closed_day, lost_from, lost_until, lost_noted_by, key_proof,
    key_proof_key) ON gateway TO tollgate_application, tollgate_operator;
  GRANT UPDATE (advanced_ms) ON gateway TO tollgate_operator;
  -- Nothing of how operators sign in.
  REVOKE ALL ON operator, operator_session, operator_attempt, operator_network, used_challenge FROM tollgate_application;
  GRANT SELECT (id, name, version, removed_at) ON operator TO tollgate_application;
  -- Whoever serves asks for nothing and approves nothing, but carries out what was asked for.
  REVOKE INSERT, UPDATE ON operator_request FROM tollgate_application;
  GRANT UPDATE (state, failure, taken_until) ON operator_request TO tollgate_application;
  REVOKE ALL ON task_request, approval_rules FROM tollgate_application;
  -- guard(roles: nobody takes the rules of approvals away): task_request, approval_rules FROM tollgate_operator ⇒ task_request FROM tollgate_operator
  REVOKE DELETE ON task_request, approval_rules FROM tollgate_operator;
  -- Whoever serves finds no differences, and works through none.
  REVOKE INSERT, UPDATE ON settlement_difference FROM tollgate_application;
  -- Whoever serves imports nothing. What an ID stood for is not forgotten: a token that was deleted would come back with the next import.
  REVOKE INSERT, UPDATE ON former_token_id FROM tollgate_application;
  GRANT UPDATE (recognition) ON former_token_id TO tollgate_application;
  -- Only the owner moves organisations, and says what another installation has sent.
  -- guard(roles: nobody else says which move is open): organisation_move, former_installation FROM tollgate_application, tollgate_operator ⇒ former_installation FROM tollgate_application, tollgate_operator
  REVOKE INSERT, UPDATE, DELETE ON organisation_move, former_installation FROM tollgate_application, tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR unique_violation OR duplicate_object THEN
  RAISE WARNING 'the roles tollgate_operator and tollgate_application could not be made: one login may do everything';
END $$;
