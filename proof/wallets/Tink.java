// Tokens of Google Pay made and opened by Google's own library. Each line asks for one thing, in words of base64; each answer is one line.
import com.google.crypto.tink.apps.paymentmethodtoken.PaymentMethodTokenRecipient;
import com.google.crypto.tink.apps.paymentmethodtoken.PaymentMethodTokenSender;
import com.google.crypto.tink.apps.paymentmethodtoken.SenderIntermediateCertFactory;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;

public final class Tink {
  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      System.out.println(encoded(words[0].equals("seal") ? seal(words) : open(words)));
    }
  }

  /** Recipient, its public key, private key of the root, both keys of the intermediate, and what is sealed. */
  private static String seal(String[] words) throws GeneralSecurityException {
    String certificate =
        new SenderIntermediateCertFactory.Builder()
            .protocolVersion("ECv2")
            .addSenderSigningKey(words[3])
            .senderIntermediateSigningKey(words[5])
            .expiration(System.currentTimeMillis() + 3_600_000)
            .build()
            .create();
    return new PaymentMethodTokenSender.Builder()
        .protocolVersion("ECv2")
        .recipientId(decoded(words[1]))
        .rawUncompressedRecipientPublicKey(words[2])
        .senderIntermediateSigningKey(words[4])
        .senderIntermediateCert(certificate)
        .build()
        .seal(decoded(words[6]));
  }

  /** Recipient, its private key, the roots and the token. Empty if it is refused. */
  private static String open(String[] words) {
    try {
      return new PaymentMethodTokenRecipient.Builder()
          .protocolVersion("ECv2")
          .recipientId(decoded(words[1]))
          .addRecipientPrivateKey(words[2])
          .senderVerifyingKeys(decoded(words[3]))
          .build()
          .unseal(decoded(words[4]));
    } catch (GeneralSecurityException | RuntimeException refused) {
      return "";
    }
  }

  private static String decoded(String base64) {
    return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
  }

  private static String encoded(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }
}
