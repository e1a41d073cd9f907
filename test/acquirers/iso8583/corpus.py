# Makes test/acquirers/iso8583/corpus.ts: messages as pyiso8583 writes them, with MACs by PyCryptodome. Run it again after a change of
# a dialect's table:  pip install pyiso8583==4.0.1 pycryptodome && python test/acquirers/iso8583/corpus.py > test/acquirers/iso8583/corpus.ts
import json
import random

import iso8583
from Crypto.Cipher import DES

# The table of the AS 2805 dialect, written down a second time on purpose.
TABLE = """
2 n..19; 3 n6; 4 n12; 7 n10; 11 n6; 12 n6; 13 n4; 14 n4; 15 n4; 18 n4; 22 n3; 23 n3; 25 n2; 32 n..11; 33 n..11; 37 an12; 38 an6;
39 an2; 41 an8; 42 an15; 43 an40; 44 an..25; 47 an..999; 48 an..999; 49 n3; 53 n16; 54 an..999; 55 b..999; 57 n12; 60 an..999;
64 b8; 66 n1; 70 n3; 90 n42; 95 an42; 100 n..11; 128 b8
"""
KEY = bytes.fromhex("0123456789ABCDEFFEDCBA9876543210")


def forms(table):
    for entry in table.replace("\n", " ").split(";"):
        field, form = entry.split()
        kind = form.rstrip("0123456789.")
        yield field, kind, ".." in form, int(form.replace(kind, "").replace("..", ""))


def specification(table, dense):
    digits = {"data_enc": "b", "len_count": "nibbles", "left_pad": "0"} if dense else {"data_enc": "ascii"}
    bitmap = {"data_enc": "b", "max_len": 8} if dense else {"data_enc": "ascii", "max_len": 16}
    fixed = {"len_enc": "ascii", "len_type": 0, "desc": ""}
    spec = {
        "h": {"data_enc": "ascii", "max_len": 0, **fixed},
        "t": {"data_enc": "b", "max_len": 2, **fixed} if dense else {"data_enc": "ascii", "max_len": 4, **fixed},
        "p": {**bitmap, **fixed},
        "1": {**bitmap, **fixed},
    }
    for field, kind, variable, most in forms(table):
        length = {"len_enc": "bcd" if dense else "ascii", "desc": ""}
        wide = most > 99
        length["len_type"] = 0 if not variable else ((2 if wide else 1) if dense else (3 if wide else 2))
        if kind == "n":
            spec[field] = {**digits, "max_len": most, **length}
        elif kind == "an":
            spec[field] = {"data_enc": "ascii", "max_len": most, **length}
        elif dense:
            spec[field] = {"data_enc": "b", "max_len": most, **length}
        else:
            spec[field] = {"data_enc": "ascii", "max_len": 2 * most, **length}
    return spec


def retail_mac(data):
    data += b"\0" * (-len(data) % 8)
    first, second = DES.new(KEY[:8], DES.MODE_ECB), DES.new(KEY[8:], DES.MODE_ECB)
    block = b"\0" * 8
    for at in range(0, len(data), 8):
        block = first.encrypt(bytes(x ^ y for x, y in zip(block, data[at : at + 8])))
    return first.encrypt(second.decrypt(block)).hex().upper()


def filled(fields, table):
    """As pyiso8583 wants it: fixed fields at their full length."""
    known = {field: (kind, variable, most) for field, kind, variable, most in forms(table)}
    out = {}
    for field, text in fields.items():
        kind, variable, most = known[field]
        if not variable and kind == "n":
            text = text.rjust(most, "0")
        if not variable and kind == "an":
            text = text.ljust(most)
        out[field] = text
    return out


def packed(type_, fields, table, dense, with_mac):
    spec = specification(table, dense)
    doc = {"t": type_, **filled(fields, table)}
    if not with_mac:
        return iso8583.encode(doc, spec)[0].hex()
    mac_field = "128" if any(int(field) > 64 for field in fields) else "64"
    first = type_[:3] + str(int(type_[3]) // 2 * 2)
    covered = iso8583.encode({**doc, "t": first, mac_field: "0" * 16}, spec)[0]
    mac = retail_mac(bytes(covered[: -8 if dense else -16]))
    return iso8583.encode({**doc, mac_field: mac}, spec)[0].hex()


PAYMENT = {
    "2": "4111111111111111", "3": "000000", "4": "1995", "7": "1116020549", "11": "17", "12": "130549", "13": "1116",
    "14": "3912", "18": "5999", "22": "012", "25": "59", "32": "560279", "37": "632102000017", "41": "TERM0001",
    "42": "MERCHANT0000001", "47": "CCV123\\", "49": "036",
}
REVERSAL = {
    "2": "378282246310005", "3": "000000", "4": "999999999999", "11": "999999", "37": "632102000017", "38": "A12", "41": "T1",
    "42": "M1", "49": "036", "90": "0200000017111602054900000560279" + "0" * 11,
}
TYPICAL = [
    ("0800", {"7": "1116020549", "11": "1", "32": "560279", "70": "001"}),
    ("0810", {"7": "1116020549", "11": "1", "32": "560279", "39": "00", "70": "001"}),
    ("0100", PAYMENT),
    ("0200", PAYMENT),
    ("0200", {**PAYMENT, "2": "6799990100000000019", "3": "200000", "22": "102"}),
    ("0200", {**PAYMENT, "2": "4222222222222"}),
    ("0210", {"3": "000000", "4": "1995", "7": "1116020549", "11": "17", "15": "1117", "37": "632102000017", "38": "654321",
              "39": "00", "41": "TERM0001", "42": "MERCHANT0000001", "49": "036"}),
    ("0210", {"11": "17", "39": "51", "41": "TERM0001"}),
    ("0220", {**PAYMENT, "38": "654321", "90": REVERSAL["90"]}),
    ("0221", {**PAYMENT, "38": "654321", "90": REVERSAL["90"]}),
    ("0230", {"11": "17", "39": "00", "41": "TERM0001"}),
    ("0420", REVERSAL), ("0421", REVERSAL), ("0400", REVERSAL), ("0401", REVERSAL),
    ("0430", {"11": "999999", "39": "25", "41": "T1"}),
]


def by_chance(chance, table):
    printable = "".join(map(chr, range(33, 127)))
    fields = {}
    for field, kind, variable, most in forms(table):
        if field in ("64", "128") or chance.random() < 0.5:
            continue
        length = chance.randint(1, most) if variable else most
        if kind == "n":
            fields[field] = "".join(chance.choice("0123456789") for _ in range(length))
        elif kind == "an":
            fields[field] = "".join(chance.choice(printable) for _ in range(min(length, 40)))
        else:
            fields[field] = "".join(chance.choice("0123456789ABCDEF") for _ in range(2 * min(length, 20)))
    return chance.choice(["0100", "0210", "0220", "0421", "0810"]), fields


def private(*entries):
    """Field 48: tag, length and text of each entry."""
    return "".join(f"{tag}{len(text):03}{text}" for tag, text in entries)


DEFERRED = ("NT", "016153570198200")
CHECKED = (
    ("EC", "05"), ("AV", "AAABBWFlmQAAAABjRWWZEEFgFz8="), ("DS", "f38e6948-5388-41a6-bca4-b49723c19437"), ("3V", "2.2.0"),
)
# What an order says of its cardholder, and the fields that say so.
CARDHOLDERS = [
    ("purchase", {}, {"22": "012"}),
    ("purchase", {"credential": ["customer", "recurring", "initial"]}, {"22": "012", "48": private(("CI", "customer/recurring"))}),
    ("purchase", {"credential": ["merchant", "recurring", "subsequent"], "network": DEFERRED[1]},
     {"22": "102", "48": private(DEFERRED, ("CI", "merchant/recurring"))}),
    ("purchase", {"credential": ["merchant", "no_show", "initial"]}, {"22": "102", "48": private(("CI", "merchant/no_show"))}),
    ("purchase", {"network": DEFERRED[1], "stored": True}, {"22": "102", "48": private(DEFERRED)}),
    ("purchase", {"check": True}, {"22": "012", "48": private(*CHECKED)}),
    ("preauthorisation", {"check": True, "credential": ["customer", "unscheduled", "initial"]},
     {"22": "012", "48": private(("CI", "customer/unscheduled"), *CHECKED)}),
]


def cardholders():
    for dialect, table, dense in (("as2805", TABLE, True), ("ascii87", TABLE, False)):
        for operation, said, fields in CARDHOLDERS:
            type_ = {"purchase": "0200", "preauthorisation": "0100"}[operation]
            payment = {field: text for field, text in PAYMENT.items() if field != "47"}
            yield {"dialect": dialect, "operation": operation, **said, "hex": packed(type_, {**payment, **fields}, table, dense, False)}


def lines():
    chance = random.Random(2805)
    for dialect, table, dense in (("as2805", TABLE, True), ("ascii87", TABLE, False)):
        messages = TYPICAL + [by_chance(chance, table) for _ in range(12)]
        for number, (type_, fields) in enumerate(messages):
            # Lengths of bytes are counted in characters by pyiso8583 where they stand in hexadecimal: left to the other dialect.
            if not dense:
                fields = {field: text for field, text in fields.items() if field != "55"}
            with_mac = number % 2 == 1
            yield dialect, type_, fields, with_mac, packed(type_, fields, table, dense, with_mac)


print("// Messages as pyiso8583 writes them, with MACs by PyCryptodome. Made by test/acquirers/iso8583/corpus.py: do not change it by hand.")
print()
print(f"export const MAC_KEY = '{KEY.hex().upper()}';")
print()
print("export interface Packed {\n  readonly dialect: string;\n  readonly type: string;")
print("  readonly fields: Readonly<Record<string, string>>;\n  readonly mac: boolean;\n  readonly hex: string;\n}")
print()
print("// biome-ignore format: one message a line\nexport const CORPUS: readonly Packed[] = [")
for dialect, type_, fields, with_mac, hex_ in lines():
    entry = {"dialect": dialect, "type": type_, "fields": fields, "mac": with_mac, "hex": hex_}
    print(f"  {json.dumps(entry)},")
print("];")
print()
print("/** Payments by what they say of the cardholder: `credential` has initiator, reason and sequence. */")
print("export interface OfCardholder {\n  readonly dialect: string;\n  readonly operation: string;")
print("  readonly credential?: readonly string[];\n  readonly network?: string;\n  readonly stored?: boolean;")
print("  readonly check?: boolean;\n  readonly hex: string;\n}")
print()
print("// biome-ignore format: one message a line\nexport const CARDHOLDERS: readonly OfCardholder[] = [")
for entry in cardholders():
    print(f"  {json.dumps(entry)},")
print("];")
