"""Languages: the codes they go by, and what is known of how they are written."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

CHINESE = frozenset({"zh", "yue", "wuu", "lzh"})
UNSPACED = CHINESE | {"ja", "th", "lo", "km", "my", "bo", "dz"}  # written without spaces between words

# The two letters of ISO 639-1, the three of ISO 639-2 and 639-3, the English name.
# Kanuri is missing: "kr" mostly is Korea's country by mistake, and Kanuri has "kau", too.
_TABLE = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic; an arg Aragonese; ar
ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani; ba bak Bashkir; be bel Belarusian; bg
bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali; bo bod tib Tibetan; br bre Breton; bs bos Bosnian; ca
cat Catalan; ce che Chechen; ch cha Chamorro; co cos Corsican; cr cre Cree; cs ces cze Czech; cu chu Church Slavic;
cv chv Chuvash; cy cym wel Welsh; da dan Danish; de deu ger German; dv div Dhivehi; dz dzo Dzongkha; ee ewe Ewe; el
ell gre Greek; en eng English; eo epo Esperanto; es spa Spanish; et est Estonian; eu eus baq Basque; fa fas per
Persian; ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese; fr fra fre French; fy fry Western Frisian; ga
gle Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu guj Gujarati; gv glv Manx; ha hau Hausa; he
heb Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat Haitian Creole; hu hun Hungarian; hy hye arm
Armenian; hz her Herero; ia ina Interlingua; id ind Indonesian; ie ile Interlingue; ig ibo Igbo; ii iii Sichuan Yi;
ik ipk Inupiaq; io ido Ido; is isl ice Icelandic; it ita Italian; iu iku Inuktitut; ja jpn Japanese; jv jav
Javanese; ka kat geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kuanyama; kk kaz Kazakh; kl kal Kalaallisut; km
khm Khmer; kn kan Kannada; ko kor Korean; ks kas Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir
Kyrgyz; la lat Latin; lb ltz Luxembourgish; lg lug Ganda; li lim Limburgan; ln lin Lingala; lo lao Lao; lt lit
Lithuanian; lu lub Luba-Katanga; lv lav Latvian; mg mlg Malagasy; mh mah Marshallese; mi mri mao Maori; mk mkd mac
Macedonian; ml mal Malayalam; mn mon Mongolian; mr mar Marathi; ms msa may Malay; mt mlt Maltese; my mya bur
Burmese; na nau Nauru; nb nob Norwegian Bokmål; nd nde North Ndebele; ne nep Nepali; ng ndo Ndonga; nl nld dut
Dutch; nn nno Norwegian Nynorsk; no nor Norwegian; nr nbl South Ndebele; nv nav Navajo; ny nya Nyanja; oc oci
Occitan; oj oji Ojibwa; om orm Oromo; or ori Oriya; os oss Ossetian; pa pan Punjabi; pi pli Pali; pl pol Polish; ps
pus Pashto; pt por Portuguese; qu que Quechua; rm roh Romansh; rn run Rundi; ro ron rum Romanian; ru rus Russian; rw
kin Kinyarwanda; sa san Sanskrit; sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs
Serbo-Croatian; si sin Sinhala; sk slk slo Slovak; sl slv Slovenian; sm smo Samoan; sn sna Shona; so som Somali; sq
sqi alb Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese; sv swe Swedish; sw swa
Swahili; ta tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog; tn
tsn Tswana; to ton Tonga; tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian; ug uig Uyghur;
uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapük; wa wln Walloon; wo wol
Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang; zh zho chi Chinese; zu zul Zulu
"""
_OTHER_CODES = """
al sq; arb ar; azj az; cmn zh; cn zh; cz cs; dk da; ekk et; gb en; gr el; il he; in id; ir fa; iw he; ji yi; jp ja;
jw jv; khk mn; kp ko; kr ko; lvs lv; mo ro; npi ne; ory or; pbt ps; pes fa; pk ur; plt mg; swh sw; twn zh; ua uk;
us en; uzn uz; vn vi; ydd yi; zsm ms
"""  # of countries, of former days and of the chief members of languages, with what is meant
_OTHER_NAMES = """
Anglais en; Bahasa id; Bokmål nb; Cantonese yue; Castellano es; Castilian es; Čeština cs; Cymraeg cy; Dansk da;
Deutsch de; Eesti et; Ελληνικά el; Englisch en; Español es; Espanol es; Euskara eu; Farsi fa; Filipino tl; Flemish nl;
Français fr; Francais fr; Gaeilge ga; Galego gl; Hrvatski hr; Íslenska is; Italiano it; Kanuri kau; Latviešu lv;
Lietuvių lt; Magyar hu; Mandarin zh; Moldovan ro; Nederlands nl; Nihongo ja; Norsk no; Nynorsk nn; Polski pl;
Português pt; Română ro; Shqip sq; Sinhalese si; Slovenčina sk; Slovene sl; Slovenščina sl; Srpski sr; Suomi fi;
Svenska sv; Tiếng Việt vi; Türkçe tr; Valencian ca; Български bg; Русский ru; Српски sr; Українська uk; עברית he;
العربية ar; فارسی fa; हिन्दी hi; ไทย th; 中文 zh; 日本語 ja; 汉语 zh; 漢語 zh; 粵語 yue; 한국어 ko
"""
_THREE = re.compile("[a-z]{3}")


def _rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.split(";")]


_NAMES: dict[str, str] = {}  # of languages, by code
_MEANT: dict[str, str] = {}  # codes, by what people write instead
for _code, *_rest in _rows(_TABLE):
    _twins = [word for word in _rest if _THREE.fullmatch(word)]
    _NAMES[_code] = " ".join(_rest[len(_twins) :])
    _MEANT |= dict.fromkeys([*_twins, _NAMES[_code].casefold()], _code)
for *_words, _code in _rows(_OTHER_CODES) + _rows(_OTHER_NAMES):
    _MEANT[" ".join(_words).casefold()] = _code


def check_language(code: str, name: str = "language") -> str:
    """`code`, if it is one: two letters of ISO 639-1, or three for a language that has no two.

    Raises ValueError that begins with `name` and proposes the code that was meant.
    """
    if code in _NAMES or (_THREE.fullmatch(code) and code not in _MEANT):
        return code
    meant = _guess(code)
    hint = (
        f"did you mean {meant!r}{f' ({_NAMES[meant]})' if meant in _NAMES else ''}?"
        if meant
        else "give two letters of ISO 639-1, such as en or ja, or three of ISO 639-3 if the language has no two"
    )
    raise ValueError(f"{name}: {code!r} is no language code; {hint}")


def _guess(code: str) -> str | None:
    """The code of what was meant, regions and capitals aside."""
    plain = code.strip().casefold()
    for form in (plain, re.split("[-_. ]", plain)[0]):
        if form in _NAMES:
            return form
        if form in _MEANT:
            return _MEANT[form]
    near = difflib.get_close_matches(plain, _MEANT, n=1, cutoff=0.8) if len(plain) > 3 else []
    return _MEANT[near[0]] if near else None


def language_of_name(path: Path) -> str | None:
    """The two letters in train.en, train.en.gz, train.en.txt and the like."""
    found = re.fullmatch(r".+\.(?!gz|xz)([a-z]{2})(\.txt)?(\.gz|\.xz)?", path.name)
    return found[1] if found else None


def language_name(code: str) -> str:
    """The English name of a language, or its code where that is not known."""
    return _NAMES.get(code, code)
