"""The sentences of the phrasebook: patterns in English and Japanese, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from trellex.phrasebook.inflection import Entry
from trellex.phrasebook.lexicon import LEXICON
from trellex.phrasebook.slots import Filler

_TEXT = """
{person} {deed.past} {past} .
{past} 、 {person} は {deed} まし た 。

i would like {count} {goods.plural} , please .
{goods} を {count} {goods.counter} お 願い し ます 。

after {deed.ing} , {person} {deed2.past} .
{person} は {deed.te} から 、 {deed2} まし た 。

the {train} from {city} to {city2} leaves at {time} .
{city} から {city2} へ 行く {train} は {time} に 出 ます 。

{person} bought {count} {small.plural} for {price} in {city} .
{person} は {city} で {small} を {count} {small.counter} {price} で 買い まし た 。

i want to {deed} {future} .
{future} 、 私 は {deed} たい です 。

this {quality} {goods} is {price} .
この {quality} {goods} は {price} です 。

{person} did not {deed} {past} .
{past} 、 {person} は {deed} ませ ん でし た 。

{person} {deed.third} {always} .
{person} は {always} {deed} ます 。

{person} is {deed.ing} now .
{person} は 今 {deed.te} い ます 。

the {building} is {relation} the {building2} .
{building} は {building2} の {relation} に あり ます 。

{group} {deed.past} in {anywhere} {past} .
{past} 、 {group} は {anywhere} で {deed} まし た 。

would you like to {deed} with me {future} ?
{future} 、 一緒 に {deed} ませ ん か 。

there are {count} {small.plural} {spot} the {furniture} .
{furniture} の {spot} に {small} が {count} {small.counter} あり ます 。

there are {count} {animal.plural} in the {place} .
{place} に {animal} が {count} {animal.counter} い ます 。

{other} went to {anywhere} by {vehicle} with {other2} {past} .
{past} 、 {other} は {other2} と {vehicle} で {anywhere} へ 行き まし た 。

could i have {food} and {count} {drink.vessels} of {drink} , please ?
{food} と {drink} を {count} 杯 いただけ ます か 。

{person} is {job.a} from {country} .
{person} は {country} 出身 の {job} です 。

it takes {minutes} minutes from {stop} station to {stop2} station by {vehicle} .
{stop} 駅 から {stop2} 駅 まで {vehicle} で {minutes} 分 かかり ます 。

{person} wants to {deed} .
{person} は {deed} たがっ て い ます 。

the {event} starts at {time} on {weekday} .
{event} は {weekday} の {time} に 始まり ます 。

i would like {count} tickets to {city} , please .
{city} まで の 切符 を {count} 枚 お 願い し ます 。

the {food} at that {shop} was {verdict} .
あの {shop} の {food} は {verdict.was} 。

{other} gave me {goods.a} on {date} .
{date} に {other} は 私 に {goods} を くれ まし た 。

i gave {other} {goods.a} on {date} .
{date} に 私 は {other} に {goods} を あげ まし た 。

{anywhere} is {scene.more} than {anywhere2} .
{anywhere} は {anywhere2} より {scene.is} 。

{person} is {character} and {character2} .
{person} は {character.and} {character2.is} 。

i would like to reserve {bedroom} for {few} nights from {date} .
{date} から {few} 泊 、 {bedroom} を 予約 し たい です 。

is there {shop.a} near {stop} station ?
{stop} 駅 の 近く に {shop} は あり ます か 。

{person} was born in {anywhere} in {year} .
{person} は {year} に {anywhere} で 生まれ まし た 。

{person} likes {hobby} but does not like {hobby2} .
{person} は {hobby} が 好き です が 、 {hobby2} は 好き で は あり ませ ん 。

the {fixture} in room {room} is broken .
{room} 号 室 の {fixture} が 壊れ て い ます 。

the {shop} opens at {morning} and closes at {evening} .
{shop} は {morning} に 開き 、 {evening} に 閉まり ます 。

{person} is wearing {wear} today .
{person} は 今日 {wear} を {wear.te} い ます 。

may i {rule} here ?
ここ で {rule.te} も いい です か 。

you must not {rule} at the {building} .
{building} で {rule.te} は いけ ませ ん 。

how much is this {quality} {goods} ?
この {quality} {goods} は いくら です か 。

{person} studies {subject} at a university in {anywhere} .
{person} は {anywhere} の 大学 で {subject} を 勉強 し て い ます 。

{person} works at {shop.a} in {city} .
{person} は {city} の {shop} で 働い て い ます 。

the flight to {town} is {minutes} minutes late because of {cause} .
{cause} の ため 、 {town} 行き の 便 は {minutes} 分 遅れ て い ます 。

my name is {firstname} and i come from {town} .
私 の 名前 は {firstname} で 、 {town} から 来 まし た 。

{other} is {age} years old .
{other} は {age} 歳 です 。

{other} has {few} {child.plural} .
{other} に は {child} が {few} 人 い ます 。

it will be {sky} in {city} {future} .
{future} の {city} は {sky} でしょ う 。

it was {climate} in {anywhere} {past} .
{past} の {anywhere} は {climate.was} 。

what time does the next {train} to {city} leave ?
次 の {city} 行き の {train} は 何 時 に 出 ます か 。

please change trains at {stop} for {stop2} .
{stop2} へ は {stop} で 乗り換え て ください 。

the train to {city} leaves from track {track} .
{city} 行き の 電車 は {track} 番線 から 出 ます 。

please go straight for {meters} meters and turn {side} at the {corner} .
{meters} メートル まっすぐ 行っ て 、 {corner} を {side} に 曲がっ て ください 。

please turn {side} at the {nth} {corner} .
{nth} の {corner} を {side} に 曲がっ て ください 。

could you tell me how to get to the {building} in {city} ?
{city} の {building} へ の 行き 方 を 教え て いただけ ます か 。

where is the nearest {building} ?
一番 近い {building} は どこ です か 。

a table for {few} people at {evening} , please .
{evening} に {few} 人 の 席 を お 願い し ます 。

this {food} is too {taste} .
この {food} は {taste.too} 。

this {drink} is not very {taste} .
この {drink} は あまり {taste.not} 。

which do you like better , {food} or {food2} ?
{food} と {food2} と どちら が 好き です か 。

do you have a {quality.more} {small} ?
もっと {quality} {small} は あり ます か 。

this is the {quality.most} {goods} in this shop .
これ は この 店 で 一番 {quality} {goods} です 。

{person} speaks {language} and {language2} .
{person} は {language} と {language2} を 話し ます 。

do you have this {garment} in {color} ?
この {garment} の {color} は あり ます か 。

i left my {belonging} on the {train} to {city} .
{city} 行き の {train} に {belonging} を 忘れ まし た 。

i lost my {belonging} near the {building} .
{building} の 近く で {belonging} を なくし まし た 。

my {body} has hurt since {past} .
{past} から {body} が 痛い です 。

{person} has lived in {anywhere} for {few} years .
{person} は {few} 年 前 から {anywhere} に 住ん で い ます 。

have you ever been to {anywhere} ?
{anywhere} に 行っ た こと が あり ます か 。

{anywhere} was not very {scene} .
{anywhere} は あまり {scene.notwas} 。

the temperature in {anywhere} is {degrees} degrees .
{anywhere} の 気温 は {degrees} 度 です 。

in {anywhere} it often {falling} in {month} .
{anywhere} で は {month} に よく {falling} ます 。

{person} is good at playing the {instrument} .
{person} は {instrument} を {instrument.plain} の が 上手 です 。

{person} looked {feeling} {past} .
{past} 、 {person} は {feeling.looked} 。

that {character} {job} is {other} .
あの {character} {job} は {other} です 。

this {small} is made of {material} .
この {small} は {material} で でき て い ます 。

please exchange {many} {currency} for yen .
{many} {currency} を 円 に 両替 し て ください 。

the {shop} is on the {floor} floor .
{shop} は {floor} に あり ます 。

today is {weekday} , {date} .
今日 は {date} {weekday} です 。

you can have {meal} in the restaurant on the {floor} floor from {clock} .
{meal} は {clock} から {floor} の レストラン で 食べ られ ます 。

please take this {medicine} {few} times a day .
この {medicine} を 一 日 に {few} 回 飲ん で ください 。

i have {symptom} and my {body} hurts .
{symptom} ます し 、 {body} も 痛い です 。

i am allergic to {food} .
私 は {food} の アレルギー が あり ます 。

please do not put {spice} in the {food} .
{food} に {spice} を 入れ ない で ください 。

the {flower.plural} in {city} are beautiful in {month} .
{month} の {city} は {flower} が 美しい です 。

the extension number of {name} is {digit} {digit2} {digit3} {digit4} .
{name} の 内線 番号 は {digit} {digit2} {digit3} {digit4} です 。

what is the word for {animal} in {language} ?
{animal} は {language} で 何 と 言い ます か 。
"""


class Sentence(NamedTuple):
    """A sentence in both languages, and the number of the pattern that made it."""

    pattern: int
    english: str
    japanese: str


def _parse(text: str) -> tuple[Entry, ...]:
    """Blocks of an English and a Japanese line, an empty line between them."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return tuple({"en": english, "ja": japanese} for english, japanese in blocks)


PATTERNS = _parse(_TEXT)


def sentences(seed: int) -> Iterator[Sentence]:
    """Endless random sentences, with repetitions; the same for the same seed."""
    filler = Filler(LEXICON, Random(seed))
    while True:
        pattern = filler.rank(len(PATTERNS))
        sentence = filler.fill(PATTERNS[pattern])
        yield Sentence(pattern, sentence["en"], sentence["ja"])
