// An acquirer's host made of jPOS: answers by the test cards, and keeps books in memory that the proof holds the gateway's against.
//
//   java … Host serve PACKAGER.xml as2805|ascii87 PORT LATE_MS   reads `books` and `stop` from its standard input
//   java … Host repack PACKAGER.xml                            unpacks each line of hexadecimal digits, and packs it again

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jpos.core.SimpleConfiguration;
import org.jpos.iso.BaseChannel;
import org.jpos.iso.ISOException;
import org.jpos.iso.ISOMsg;
import org.jpos.iso.ISOPackager;
import org.jpos.iso.ISORequestListener;
import org.jpos.iso.ISOServer;
import org.jpos.iso.ISOSource;
import org.jpos.iso.ISOUtil;
import org.jpos.iso.ServerChannel;
import org.jpos.iso.channel.ASCIIChannel;
import org.jpos.iso.channel.PostChannel;
import org.jpos.iso.packager.GenericPackager;
import org.jpos.util.ThreadPool;

public class Host implements ISORequestListener {
  private static final Pattern TEST_CARD = Pattern.compile("4([1-4])00000000000([0-9]{2})[0-9]");
  private static final List<String> APPROVALS = List.of("00", "08", "10", "11", "16");
  private static final int[] NOT_SAID_AGAIN = {2, 14, 18, 22, 25, 43, 47, 48, 64, 90, 128};
  private static final String LOOPBACK = "127.0.0.1";
  private static final int SLOW_MS = 2_000;

  /** What it decided, under terminal, day and STAN. */
  private record Decided(String mti, String processingCode, String reference, long cents, String code, String authorisation, String original) {
    boolean isApproved() {
      return APPROVALS.contains(code);
    }

    String position() {
      if (mti.equals("0100")) return cents + " held";
      return (processingCode.equals("200000") ? -cents : cents) + " charged";
    }
  }

  private final Map<String, Decided> decided = new ConcurrentHashMap<>();
  private final Map<String, Boolean> reversed = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<String> complaints = new ConcurrentLinkedQueue<>();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private final ScheduledExecutorService later = Executors.newScheduledThreadPool(2);
  private final int lateMs;

  private Host(int lateMs) {
    this.lateMs = lateMs;
  }

  public static void main(String[] args) throws Exception {
    ISOPackager packager = new GenericPackager(args[1]);
    if (args[0].equals("repack")) repack(packager);
    else new Host(Integer.parseInt(args[4])).serve(packager, args[2], Integer.parseInt(args[3]));
  }

  private static void repack(ISOPackager packager) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      try {
        ISOMsg message = new ISOMsg();
        message.setPackager(packager);
        message.unpack(ISOUtil.hex2byte(line));
        message.recalcBitMap();
        System.out.println(ISOUtil.hexString(message.pack()).toLowerCase());
      } catch (ISOException | RuntimeException failed) {
        System.out.println("unreadable: " + failed.getMessage());
      }
    }
  }

  private void serve(ISOPackager packager, String dialect, int port) throws Exception {
    BaseChannel channel = dialect.equals("as2805") ? new PostChannel(packager) : new ASCIIChannel(packager);
    ISOServer server = new ISOServer(port, (ServerChannel) channel, new ThreadPool(1, 100));
    SimpleConfiguration loopback = new SimpleConfiguration();
    loopback.put("bind-address", LOOPBACK);
    server.setConfiguration(loopback);
    server.addISORequestListener(this);
    new Thread(server).start();
    awaitListening(port);
    System.out.println("host on 127.0.0.1:" + port);
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String command = commands.readLine(); command != null; command = commands.readLine()) {
      if (command.equals("books")) tellBooks();
      else break;
    }
    System.exit(0);
  }

  private static void awaitListening(int port) throws InterruptedException {
    for (;;) {
      try (Socket tried = new Socket(LOOPBACK, port)) {
        return;
      } catch (IOException notYet) {
        Thread.sleep(20);
      }
    }
  }

  private synchronized void tellBooks() {
    decided.forEach((key, one) -> {
      System.out.println("reference " + key + " " + one.reference);
      if (stands(key) && !(one.mti.equals("0100") && isCompleted(key))) System.out.println("position " + key + " " + one.position());
    });
    complaints.forEach(complaint -> System.out.println("complaint " + complaint));
    System.out.println("acknowledged " + acknowledged.get());
    System.out.println("end");
  }

  @Override
  public boolean process(ISOSource source, ISOMsg message) {
    try {
      if (message.getMTI().equals("0800")) send(source, answer(message, "00", null));
      else serve(source, message);
    } catch (ISOException | IOException failed) {
      complaints.add(failed.toString());
    }
    return true;
  }

  private void serve(ISOSource source, ISOMsg message) throws ISOException, IOException {
    String asked = asked(message);
    boolean isFault = asked.startsWith("fault");
    String fault = isFault ? asked.substring(5) : "";
    if (fault.equals("01")) {
      ((BaseChannel) source).disconnect();
      return;
    }
    if (fault.equals("02")) return;
    ISOMsg answer = decide(message, isFault ? "" : asked);
    switch (fault) {
      case "03" -> { }
      case "04" -> later.schedule(() -> send(source, answer), lateMs, TimeUnit.MILLISECONDS);
      case "06" -> later.schedule(() -> send(source, answer), SLOW_MS, TimeUnit.MILLISECONDS);
      default -> send(source, answer);
    }
  }

  /** A response code, `fault` and its number, or nothing. Reversals and whatever is repeated are served as they come. */
  private String asked(ISOMsg message) throws ISOException {
    String mti = message.getMTI();
    Matcher card = TEST_CARD.matcher(message.getString(2));
    if (!card.matches() || mti.endsWith("1")) return "";
    boolean isReversal = mti.startsWith("04");
    boolean isPayment = !isReversal && !message.hasField(90);
    int kind = Integer.parseInt(card.group(1));
    if (isPayment && kind > 2 || isReversal && kind < 3) return "";
    return (kind % 2 == 1 ? "" : "fault") + card.group(2);
  }

  private synchronized ISOMsg decide(ISOMsg message, String asked) throws ISOException {
    String mti = message.getMTI().substring(0, 3) + "0";
    return mti.startsWith("04") ? reverse(message, asked) : book(message, mti, asked);
  }

  private ISOMsg book(ISOMsg message, String mti, String asked) throws ISOException {
    String key = key(message.getString(41), message.getString(7), message.getString(11));
    long cents = Long.parseLong(message.getString(4));
    String original = message.hasField(90) ? originalKey(message) : null;
    Decided before = decided.get(key);
    if (before != null) {
      boolean isSame = before.mti.equals(mti) && before.cents == cents && before.reference.equals(message.getString(37));
      if (!isSame) complaints.add("STAN used twice: " + key);
      return isSame ? answer(message, before.code, before.authorisation) : answer(message, "94", null);
    }
    String code = reversed.containsKey(key) ? "12" : asked.isEmpty() ? "00" : asked;
    if (original != null && !stands(original)) {
      complaints.add("its original does not stand: " + key);
      code = "25";
    }
    String authorisation = APPROVALS.contains(code) ? String.format("%06d", ThreadLocalRandom.current().nextInt(1_000_000)) : null;
    decided.put(key, new Decided(mti, message.getString(3), message.getString(37), cents, code, authorisation, original));
    return answer(message, code, authorisation);
  }

  private ISOMsg reverse(ISOMsg message, String asked) throws ISOException {
    String original = originalKey(message);
    Decided found = decided.get(original);
    if (found != null && !asked.isEmpty() && !APPROVALS.contains(asked)) return answer(message, asked, null);
    if (found != null && (found.cents != Long.parseLong(message.getString(4)) || !found.reference.equals(message.getString(37)))) {
      complaints.add("unlike its original: " + original);
      return answer(message, "30", null);
    }
    reversed.put(original, true);
    acknowledged.incrementAndGet();
    return answer(message, found == null ? "25" : "00", null);
  }

  private boolean stands(String key) {
    Decided one = decided.get(key);
    return one != null && one.isApproved() && !reversed.containsKey(key);
  }

  private boolean isCompleted(String key) {
    return decided.entrySet().stream().anyMatch(other -> key.equals(other.getValue().original) && stands(other.getKey()));
  }

  private static String key(String terminal, String sentAt, String stan) {
    return terminal.trim() + "/" + sentAt.substring(0, 4) + "/" + stan;
  }

  private static String originalKey(ISOMsg message) {
    String original = message.getString(90);
    return key(message.getString(41), original.substring(10, 20), original.substring(4, 10));
  }

  private static ISOMsg answer(ISOMsg message, String code, String authorisation) throws ISOException {
    ISOMsg answer = (ISOMsg) message.clone();
    answer.setResponseMTI();
    for (int field : NOT_SAID_AGAIN) answer.unset(field);
    // A payment by agreement is called what the first one was.
    if (authorisation != null && message.hasField(48)) answer.set(48, message.getString(48));
    answer.set(39, code);
    if (authorisation == null) answer.unset(38);
    else answer.set(38, authorisation);
    return answer;
  }

  private static void send(ISOSource source, ISOMsg answer) {
    try {
      source.send(answer);
    } catch (ISOException | IOException gone) {
      // The gateway has closed the connection, and asks again or reverses.
    }
  }
}
