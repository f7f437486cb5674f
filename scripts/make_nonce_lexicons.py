"""Write the eight nonce lexicons of ``bench/lang/nonce_lexicons.json``; run once, kept so that anyone can check it.

Needs a word list, one word a line. The one used is that of the package english-words 2.0.2: both its sources, web2 and
gcide, in lower case (``get_english_words_set(["web2", "gcide"], lower=True)``). The data file holds the SHA-256 of the
sorted words of three and four letters, so another list is noticed.

    python scripts/make_nonce_lexicons.py words.txt > bench/lang/nonce_lexicons.json
"""

from __future__ import annotations

import hashlib
import json
import random
import string
import sys
from pathlib import Path

SEED = 20261005
SETS = 8
FIELDS = {"unit": 4, "func": 4, "area": 4, "let": 3, "nop": 3, "end": 3}
VOWELS = "aeiou"
# words and abbreviations of programming, of this project, and short common words of other languages
RESERVED_WORDS = """
    ces cet cub cud hok jel jgo rin tud xay
    abi abs ack ada adj aes aka ale all alt amp and any api app area arg asm asr att aux awk bey bez bin bit
    bool bot bov bpm bss byl byte cad call cam cap case cdr cgi char chr cin cls cmp col con cos cpu css csv cut
    czy dal das dat def del dem den der des det dev dict die dig dim dir div dll dns doc dom dos dup edu een ein
    ele elif else end endl enum env eof err esc eval exec exit exp expr faq file fin fmt for from ftp fue fun
    func gcc get gif goto gov gpu gui hai han har hash hdr het hex hez hij hon hoy html http huj ide img impl
    incr inf init ins int intr iota ipv iso iter jag jak jar jov jpg json junk juz jwt kak kan kde kern kun lan
    las lcm len les let lib libs lic list log long loop los lsb lsp ltr mac main mal man map math max mem mes
    mig mime min mix mod mov mpg mpi msb msg mut muy nad nan nao nas nat neg nel net new nfs nic nil non none
    nop nos not nul null num obj och oct oli oop ord org out pal pass pci pdf per perl php pid pin pkg png pod
    pop por pos pow pre priv proc prog ptr pub push pwd que qui ram rar raw ref reg rel rem rep repr rer ret rgb
    rom rpc rss rtl rtn rtti rust sci sda sdk sei self seq ses set seu sgn sha shl shr sim sin sip ska sms soc
    som sort sox spi sql sqrt src ssd ssh ssl std stmt sto str strl sub sul sum svg svn sys tai tak tam tan tar
    tcl tcp temp tes tex text tez tga then this tif tls tmp tpl trap tre true try tsv ttl tty tui txt type udp
    uid uint uma una une unit uno uri url usb usr utc utf util utp vad val van var vec ven vez vim vlan void vos
    voz vpn wait wasm wav web wend when wifi wij wiki with wma word www xab xhr xml xor xss yaml yes zij zip zsh
"""
RESERVED = frozenset(RESERVED_WORDS.split())


def short_words(path: str) -> frozenset[str]:
    """The words of three and four letters in a list of one word a line."""
    words = (line.strip().lower() for line in Path(path).read_text(encoding="utf-8").splitlines())
    return frozenset(word for word in words if len(word) in {3, 4} and word.isascii() and word.isalpha())


def candidate(dice: random.Random, length: int) -> str:
    """A word with exactly one vowel, not the first letter."""
    letters = [dice.choice([c for c in string.ascii_lowercase if c not in VOWELS]) for _ in range(length)]
    letters[dice.randrange(1, length)] = dice.choice(VOWELS)
    return "".join(letters)


def acceptable(word: str, taken: list[str], refused: frozenset[str]) -> bool:
    """Whether ``word`` is no refused word, holds none of three letters, and is no prefix of a taken word or reverse."""
    pieces = {word[start : start + 3] for start in range(len(word) - 2)} | {word}
    if pieces & refused:
        return False
    return not any(word.startswith(other) or other.startswith(word) for other in taken)


def make_sets(refused: frozenset[str]) -> list[dict[str, str]]:
    """The eight sets; all 48 words differ, and none is a prefix of another."""
    dice = random.Random(SEED)
    taken: list[str] = []
    sets = []
    for _ in range(SETS):
        row = {}
        for field, length in FIELDS.items():
            word = candidate(dice, length)
            while not acceptable(word, taken, refused):
                word = candidate(dice, length)
            taken.append(word)
            row[field] = word
        sets.append(row)
    return sets


def main() -> None:
    """Print the data file."""
    english = short_words(sys.argv[1])
    digest = hashlib.sha256("\n".join(sorted(english)).encode()).hexdigest()
    document = {
        "made_by": "scripts/make_nonce_lexicons.py",
        "seed": SEED,
        "short_words_sha256": digest,
        "sets": make_sets(english | RESERVED),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
