"""Makes pyiso8583-corpus.jsonl: messages in both dialects, packed by pyiso8583 4.0.1 (PyPI), a library of others.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install pyiso8583==4.0.1
    /tmp/venv/bin/python test/iso8583-host/pyiso8583-corpus.py > test/iso8583-host/pyiso8583-corpus.jsonl

The tests read those lines alone. Each case says the dialect, the MTI, the fields without padding, and the bytes without framing.
"""

import json
import random

import iso8583

FORMS = {
    2: "n..19", 3: "n6", 4: "n12", 7: "n10", 11: "n6", 12: "n6", 13: "n4", 14: "n4", 15: "n4", 18: "n4", 22: "n3",
    23: "n3", 25: "n2", 32: "n..11", 33: "n..11", 37: "an12", 38: "an6", 39: "an2", 41: "an8", 42: "an15", 43: "an40",
    44: "an..25", 47: "an..999", 48: "an..999", 49: "n3", 53: "n16", 54: "an..999", 55: "b..999", 57: "n12",
    60: "an..999", 64: "b8", 66: "n1", 70: "n3", 90: "n42", 95: "an42", 100: "n..11", 128: "b8",
}


def split(form):
    kind = form.rstrip("0123456789.")
    return kind, ".." in form, int(form.removeprefix(kind).removeprefix(".."))


def field_of(form, is_bcd):
    kind, is_variable, length = split(form)
    digits = len(str(length)) if is_variable else 0
    spec = {"desc": "", "max_len": length, "data_enc": "ascii", "len_enc": "bcd" if is_bcd else "ascii", "len_type": digits}
    if is_bcd:
        spec["len_type"] = {0: 0, 2: 1, 3: 2}[digits]
    if kind == "n" and is_bcd:
        spec |= {"data_enc": "b", "len_count": "nibbles", "left_pad": "0"}
    if kind == "b" and is_bcd:
        spec |= {"data_enc": "b"}
    if kind == "b" and not is_bcd:
        # Two characters for each byte. Where there is a length it counts bytes, which the library cannot say.
        spec |= {"max_len": 2 * length}
    return spec


def specification(is_bcd):
    spec = {str(number): field_of(form, is_bcd) for number, form in FORMS.items()}
    missing = {"desc": "", "max_len": 0, "data_enc": "ascii", "len_enc": "ascii", "len_type": 0}
    for number in range(2, 129):
        spec.setdefault(str(number), missing)
    spec["h"] = missing
    spec["t"] = {"desc": "", "data_enc": "b" if is_bcd else "ascii", "len_enc": "ascii", "len_type": 0, "max_len": 2 if is_bcd else 4}
    bitmap = {"desc": "", "data_enc": "b" if is_bcd else "ascii", "len_enc": "ascii", "len_type": 0, "max_len": 8 if is_bcd else 16}
    return spec | {"p": bitmap, "1": bitmap}


CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 \\/-.,'&"
chance = random.Random(8583)


def value_of(form, longest=30):
    kind, is_variable, length = split(form)
    size = chance.randint(1, min(length, longest)) if is_variable else length
    if kind == "n":
        return "".join(chance.choice("0123456789") for _ in range(size))
    if kind == "b":
        return "".join(chance.choice("0123456789ABCDEF") for _ in range(2 * size))
    text = "".join(chance.choice(CHARACTERS) for _ in range(size if is_variable else chance.randint(1, size)))
    # A text of a fixed length ends in its padding; what ends one of its own in a space would look the same.
    return text if is_variable else (text.rstrip() or "X")


TYPICAL = [
    ("0800", {7: "1116010203", 11: "000001", 32: "61000001", 70: "001"}),
    ("0200", {2: "4111111111111111", 3: "000000", 4: "000000001995", 7: "1116010203", 11: "000002", 12: "120203", 13: "1116",
              14: "3912", 18: "5999", 22: "012", 25: "59", 32: "61000001", 37: "632101000002", 41: "TERM0001",
              42: "MERCHANT0000001", 43: "A SHOP                   SYDNEY       AU", 47: "CCV123\\", 49: "036"}),
    ("0200", {2: "378282246310005", 3: "200000", 4: "000000000500", 7: "1116010204", 11: "000003", 22: "102", 25: "59",
              32: "61000001", 37: "632101000002", 41: "TERM0001", 42: "MERCHANT0000001", 49: "036",
              90: "020000000211160102030006100000100000000000"}),
    ("0430", {3: "000000", 4: "000000001995", 7: "1116010203", 11: "000004", 37: "632101000002", 39: "00", 41: "TERM0001",
              42: "MERCHANT0000001", 49: "036", 128: "0123456789ABCDEF"}),
    ("0210", {3: "000000", 4: "000000001995", 7: "1116010203", 11: "000002", 15: "1117", 37: "632101000002", 38: "AB12",
              39: "00", 41: "T1", 42: "M1", 49: "036", 64: "FEDCBA9876543210"}),
]


def case(name, is_bcd, mti, fields):
    document = {"h": "", "t": mti}
    for number, value in fields.items():
        kind, is_variable, length = split(FORMS[number])
        document[str(number)] = value.ljust(length) if kind == "an" and not is_variable else value
    raw, _ = iso8583.encode(document, specification(is_bcd))
    return {"dialect": name, "mti": mti, "fields": {str(number): fields[number] for number in sorted(fields)}, "hex": bytes(raw).hex()}


cases = []
for name, is_bcd in (("as2805", True), ("ascii87", False)):
    cases += [case(name, is_bcd, mti, fields) for mti, fields in TYPICAL]
    # The library counts the characters of bytes in ASCII, and not the bytes.
    numbers = [number for number in FORMS if is_bcd or number != 55]
    for number in numbers:
        cases.append(case(name, is_bcd, "0210", {number: value_of(FORMS[number], longest=999)}))
    for _ in range(40):
        chosen = chance.sample(numbers, chance.randint(3, 20))
        cases.append(case(name, is_bcd, chance.choice(["0100", "0200", "0221", "0421", "0810"]), {number: value_of(FORMS[number]) for number in chosen}))
for one in cases:
    print(json.dumps(one))
