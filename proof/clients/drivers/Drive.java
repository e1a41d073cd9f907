// Drives the gateway with the client that the Java generator of openapi-generator made.
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.CustomersApi;
import org.openapitools.client.api.TokensApi;
import org.openapitools.client.api.TransactionsApi;
import org.openapitools.client.model.*;

public class Drive {
  private final TransactionsApi transactions;
  private final CustomersApi customers;
  private final TokensApi tokens;
  private final Merchant merchant;
  /** A later gateway answers with values and members that this client has never heard of. */
  private final boolean later;

  private Drive(String address, String username, String password, int merchantId, boolean later) {
    ApiClient client = new ApiClient();
    client.setBasePath(address);
    client.setUsername(username);
    client.setPassword(password);
    transactions = new TransactionsApi(client);
    customers = new CustomersApi(client);
    tokens = new TokensApi(client);
    merchant = new Merchant().id(merchantId);
    this.later = later;
  }

  public static void main(String[] args) throws Exception {
    int merchantId = Integer.parseInt(args[2]);
    new Drive(args[3], args[0], args[1], merchantId, false).trade();
    new Drive(args[4], args[0], args[1], merchantId, true).trade();
    // The HTTP library keeps threads for a minute.
    System.exit(0);
  }

  private void trade() throws Exception {
    String correlationId = fresh();
    CreatedTransaction purchase = pay(card("4111111111111111"), correlationId);
    equal(outcome(purchase.getStatus()), known("approved"));
    equal(purchase.getKvps().get("GATEWAY.REQUEST.KVP.order_number"), "1001");

    TransactionDetails shown = lookUp(purchase.getAudit()).getTransaction();
    equal(shown.getTransactionType(), known("purchase"));
    MaskedCreditcard card = shown.getPaymentMethod().getMaskedCreditcardPaymentMethod().getCreditcard();
    equal(List.of(card.getPan(), card.getType()), List.of("411111******1111", known("visa")));

    List<LookedUpTransaction> found = search(correlationId);
    equal(found.size(), 1);
    equal(found.get(0).getAudit(), purchase.getAudit());
    equal(search(fresh()).size(), 0);

    CreatedTransaction refund = refund(purchase.getAudit(), "2500");
    equal(outcome(refund.getStatus()), known("approved"));
    equal(lookUp(refund.getAudit()).getTransaction().getTargetAudit(), purchase.getAudit());
    try {
      refund(purchase.getAudit(), "9999999");
      throw new AssertionError("more than the original was refunded");
    } catch (ApiException refused) {
      equal(refused.getCode(), 422);
      Errors errors = Errors.fromJson(refused.getResponseBody());
      equal(errors.getErrors().get(0).getErrorCode(), known("refund_exceeds_original"));
    }

    CreatedTransaction second = pay(card("4111111111111111"), fresh());
    VoidRequest voiding = new VoidRequest()
        .merchant(merchant)
        .transaction(new VoidRequestTransaction().reference("order-2"));
    CreatedTransaction voided = transactions.voidTransaction(fresh(), second.getAudit(), voiding);
    equal(outcome(voided.getStatus()), known("approved"));
    equal(outcome(lookUp(second.getAudit()).getStatus()), known("voided"));

    Bankaccount account = new Bankaccount().bsb("062-000").accountNumber("123456789").accountName("A Customer");
    CreatedTransaction debit =
        pay(new PaymentMethod(new BankaccountPaymentMethod().bankaccount(account)), fresh());
    equal(outcome(debit.getStatus()), known("pending"));
    MaskedPaymentMethod method = lookUp(debit.getAudit()).getTransaction().getPaymentMethod();
    equal(method.getMaskedBankaccountPaymentMethod().getBankaccount().getAccountNumber(), "******789");

    Customer customer = customers.findOrCreateCustomer(
        fresh(), new NewCustomer().reference(fresh()).name("Ada Lovelace"), null);
    GeneralCreditcard creditcard = new GeneralCreditcard()
        .CARD_PAN("4111111111111111")
        .CARD_EXPIRY("1239")
        .CARD_NAME("Ada Lovelace");
    Token token = tokenise(
        customer, "Card", new Account(new GeneralCreditcardAccount().generalCreditcard(creditcard)));
    MaskedGeneralCreditcard stored =
        token.getAccount().getMaskedGeneralCreditcardAccount().getGeneralCreditcard();
    equal(List.of(stored.getCARDPAN(), stored.getCARDTYPE()), List.of("411111******1111", known("visa")));
    GeneralBankaccount bankaccount = new GeneralBankaccount()
        .BANK_BSB("062-000")
        .BANK_ACCOUNT_NUMBER("123456789")
        .BANK_ACCOUNT_NAME("A Customer");
    tokenise(customer, "Account", new Account(new GeneralBankaccountAccount().generalBankaccount(bankaccount)));
    equal(tokens.listTokens(customer.getId(), null, null, null, null, null).getResults().size(), 2);
    PaymentMethod virtual = new PaymentMethod(
        new CreditcardPaymentMethod().creditcard(new Creditcard().pan(token.getVirtualPan())));
    equal(outcome(pay(virtual, fresh()).getStatus()), known("approved"));
    equal(customers.deleteCustomerWithHttpInfo(fresh(), customer.getId(), null).getStatusCode(), 204);
  }

  private CreatedTransaction pay(PaymentMethod method, String correlationId) throws ApiException {
    PaymentRequest request = new PaymentRequest()
        .merchant(merchant)
        .putKvpsItem("order_number", "1001")
        .transaction(new PaymentRequestTransaction()
            .reference("order-1")
            .amountDetails(amount("10000"))
            .paymentMethod(method));
    ApiResponse<CreatedTransaction> answer = transactions.createPurchaseWithHttpInfo(correlationId, request);
    equal(answer.getStatusCode(), 201);
    equal(answer.getHeaders().get("x-correlation-id"), List.of(correlationId));
    return answer.getData();
  }

  private CreatedTransaction refund(int audit, String total) throws ApiException {
    AmountRequest request = new AmountRequest()
        .merchant(merchant)
        .transaction(new AmountRequestTransaction().reference("order-1").amountDetails(amount(total)));
    return transactions.createRefund(fresh(), audit, request);
  }

  private LookedUpTransaction lookUp(int audit) throws ApiException {
    return transactions.lookUpTransaction(audit, null);
  }

  private List<LookedUpTransaction> search(String correlationId) throws ApiException {
    return transactions.searchTransactions(merchant.getId(), correlationId, null).getResults();
  }

  private Token tokenise(Customer customer, String preferredName, Account account) throws ApiException {
    NewToken wish = new NewToken().preferredName(preferredName).active(true).account(account);
    return tokens.createToken(fresh(), customer.getId(), wish, null);
  }

  private static PaymentMethod card(String pan) {
    Creditcard creditcard = new Creditcard().pan(pan).expiryDate("1239").cvv("123");
    return new PaymentMethod(new CreditcardPaymentMethod().creditcard(creditcard));
  }

  private static AmountDetails amount(String total) {
    return new AmountDetails().totalAmount(total).currency("AUD");
  }

  private static String outcome(TransactionStatus status) {
    return status.getTransactionStatusCode();
  }

  private String known(String value) {
    return later ? "later_value" : value;
  }

  private static String fresh() {
    return UUID.randomUUID().toString();
  }

  private static void equal(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " is not " + expected);
  }
}
