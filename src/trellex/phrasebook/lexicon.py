"""The words of the phrasebook: lists of entries, the most frequent first. Slots in templates name these lists."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from trellex.phrasebook import numerals
from trellex.phrasebook.inflection import Entry, adjectives, deeds, nouns, words


def _mixed(*lists: list[Entry]) -> list[Entry]:
    """One list that takes from each in turn, so that none of them is rare as a whole."""
    return [entry for entry in chain.from_iterable(zip_longest(*lists)) if entry is not None]


def _spoken(*pairs: tuple[str, str]) -> list[Entry]:
    return [{"en": english, "ja": japanese} for english, japanese in pairs]


def _numbers(*values: Iterable[int]) -> list[Entry]:
    """Numbers in the order of their first mention."""
    return _spoken(*map(numerals.number, dict.fromkeys(chain(*values))))


def _round_first(values: Iterable[int]) -> list[int]:
    """Round numbers first, as people say them more often."""
    return sorted(values, key=lambda value: (-min(len(str(value)) - len(str(value).rstrip("0")), 3), value))


_MINUTES = (0, 30, 15, 45, 10, 50, 20, 40, 5, 55, 25, 35, *(minute for minute in range(1, 60) if minute % 5))
_MONTHS = (4, 8, 12, 1, 7, 3, 5, 10, 9, 11, 6, 2)


def _clocks(*hours: int) -> list[Entry]:
    return _spoken(*(numerals.clock(hour, minute) for minute in _MINUTES for hour in hours))


_TICKETS = nouns(
    """
ticket = 切符, stamp = 切手, postcard = 葉書,
towel = タオル, plate = 皿, photograph = 写真, handkerchief = ハンカチ, blanket = 毛布, poster = ポスター,
scarf/scarves = スカーフ, map = 地図, fan = 扇子, curtain = カーテン, carpet = 絨毯, mask = マスク,
cushion = 座布団, cookie = クッキー, pizza = ピザ, envelope = 封筒, coin = 硬貨, painting = 絵, mirror = 鏡,
record = レコード
""",
    counter="枚",
)
_TOPS = nouns(
    """
shirt = シャツ, sweater = セーター, skirt = スカート, t-shirt = ティーシャツ, apron = エプロン, vest = チョッキ,
blouse = ブラウス
""",
    counter="枚",
)
_STICKS = nouns(
    """
umbrella = 傘, pen = ペン, pencil = 鉛筆, banana = バナナ, tie = ネクタイ, belt = ベルト, candle = ろうそく,
toothbrush = 歯ブラシ, carrot = 人参, cucumber = きゅうり, bottle = 瓶, key = 鍵, rose = バラ, tulip = チューリップ,
spoon = スプーン, fork = フォーク, brush = 筆, needle = 針, leek = ネギ, rope = 縄, lily = 百合, radish = 大根,
eggplant = 茄子, sunflower = ひまわり, fishing rod = 釣り竿
""",
    counter="本",
)
_PIECES = nouns(
    """
bag = 鞄, hat = 帽子, cake = ケーキ, egg = 卵, box = 箱, watch = 腕時計, ring = 指輪, cup = カップ, wallet = 財布,
suitcase = スーツケース, lunch box = 弁当, rice ball = おにぎり, battery = 電池, vase = 花瓶, doll = 人形,
toy = おもちゃ, bar of soap/bars of soap = 石鹸, sandwich = サンドイッチ, hamburger = ハンバーガー,
doughnut = ドーナツ, ball = ボール, bell = 鈴, lamp = ランプ, backpack = リュック, necklace = ネックレス,
clock = 時計, pot = 鍋, teapot = 急須, basket = 籠, pillow = 枕, button = ボタン, eraser = 消しゴム,
helmet = ヘルメット, chocolate bar = 板 チョコ, souvenir = お 土産, lipstick = 口紅, brooch = ブローチ,
music box = オルゴール
""",
    counter="個",
)
_PRODUCE = nouns(
    """
apple = りんご, orange = オレンジ, lemon = レモン, peach = 桃, tomato/tomatoes = トマト,
potato/potatoes = じゃがいも, onion = 玉ねぎ, melon = メロン, strawberry = 苺, pear = 梨, pineapple = パイナップル,
watermelon = スイカ, persimmon = 柿, chestnut = 栗, pumpkin = かぼちゃ, cabbage = キャベツ, mandarin = みかん,
kiwi = キウイ, mango/mangoes = マンゴー, turnip = かぶ, fig = イチジク, plum = スモモ, green pepper = ピーマン,
avocado/avocados = アボカド, grapefruit = グレープフルーツ
""",
    counter="個",
)
_READINGS = nouns(
    """
book = 本, magazine = 雑誌, dictionary = 辞書, novel = 小説, comic = 漫画, guidebook = ガイド ブック,
textbook = 教科書, notebook = ノート, diary = 日記 帳, picture book = 絵本, album = アルバム, catalogue = カタログ
""",
    counter="冊",
)
_MACHINES = nouns(
    """
car = 車, bicycle = 自転車, camera = カメラ, computer = パソコン, phone = 電話, television = テレビ, piano = ピアノ,
refrigerator = 冷蔵庫, motorcycle = バイク, radio = ラジオ, washing machine = 洗濯 機, bed = ベッド,
truck = トラック, printer = プリンター, microwave = 電子 レンジ, vacuum cleaner = 掃除 機, sewing machine = ミシン,
calculator = 電卓, hair dryer = ドライヤー, desk lamp = 電気 スタンド, tractor = トラクター, telescope = 望遠鏡,
drone = ドローン
""",
    counter="台",
)
_GARMENTS = nouns(
    """
coat = コート, dress = ドレス, suit = スーツ, kimono/kimonos = 着物, jacket = 上着, uniform = 制服,
raincoat = レイン コート, swimsuit = 水着, yukata/yukata = 浴衣
""",
    counter="着",
)
_SMALL_GOODS = _mixed(_PIECES, _TICKETS, _STICKS, _READINGS, _PRODUCE)
_GOODS = _mixed(_PIECES, _TICKETS, _STICKS, _MACHINES, _READINGS, _GARMENTS, _PRODUCE, _TOPS)

_CLOTHES = {  # by the verb that says how they are worn
    "着 て": """
a coat = コート, a kimono = 着物, a suit = スーツ, a sweater = セーター, a jacket = 上着, a shirt = シャツ
""",
    "はい て": """
trousers = ズボン, jeans = ジーンズ, a skirt = スカート, boots = ブーツ, sandals = サンダル, socks = 靴下,
sneakers = スニーカー, slippers = スリッパ
""",
    "かぶっ て": "a hat = 帽子, a cap = キャップ, a helmet = ヘルメット, a straw hat = 麦わら 帽子",
    "し て": """
a tie = ネクタイ, gloves = 手袋, a scarf = スカーフ, a mask = マスク, a ring = 指輪, earrings = イヤリング
""",
    "かけ て": "glasses = 眼鏡, sunglasses = サングラス",
}
_HOT_DRINKS = words(
    """
coffee = コーヒー, tea = 紅茶, green tea = 緑茶, cocoa = ココア, hot milk = ホット ミルク,
herbal tea = ハーブ ティー, espresso = エスプレッソ, barley tea = 麦茶, oolong tea = ウーロン 茶
""",
    vessels="cups",
)
_COLD_DRINKS = words(
    """
water = 水, beer = ビール, wine = ワイン, milk = 牛乳, orange juice = オレンジ ジュース, sake = 日本酒,
whiskey = ウイスキー, lemonade = レモネード, cola = コーラ, apple juice = りんご ジュース, red wine = 赤 ワイン,
white wine = 白 ワイン, champagne = シャンパン, tomato juice = トマト ジュース, shochu = 焼酎,
iced tea = アイス ティー, mineral water = ミネラル ウォーター, plum wine = 梅酒
""",
    vessels="glasses",
)
_STRINGS = words(
    """
piano = ピアノ, guitar = ギター, violin = バイオリン, cello = チェロ, organ = オルガン, koto = 琴, harp = ハープ,
shamisen = 三味線, accordion = アコーディオン, ukulele = ウクレレ, mandolin = マンドリン
""",
    stem="弾き",
    te="弾い て",
    plain="弾く",
)
_WINDS = words(
    """
flute = フルート, trumpet = トランペット, harmonica = ハーモニカ, clarinet = クラリネット, saxophone = サックス,
oboe = オーボエ, trombone = トロンボーン, recorder = リコーダー, bassoon = ファゴット
""",
    stem="吹き",
    te="吹い て",
    plain="吹く",
)

_SMALL_ANIMALS = nouns(
    """
cat = 猫, dog = 犬, monkey = 猿, frog = カエル, turtle = 亀, snake = 蛇, mouse/mice = ネズミ, fox = 狐,
squirrel = リス, goldfish/goldfish = 金魚, butterfly = 蝶, hamster = ハムスター, raccoon dog = 狸, spider = 蜘蛛,
bee = 蜂, crab = 蟹, lizard = トカゲ, firefly = 蛍, hedgehog = ハリネズミ, dragonfly = トンボ, carp/carp = 鯉,
beetle = カブトムシ, ant = 蟻
""",
    counter="匹",
)
_LARGE_ANIMALS = nouns(
    """
horse = 馬, cow = 牛, elephant = 象, lion = ライオン, bear = 熊, tiger = 虎, deer/deer = 鹿, panda = パンダ,
giraffe = キリン, dolphin = イルカ, whale = クジラ, camel = ラクダ, gorilla = ゴリラ, wolf/wolves = 狼,
zebra = シマウマ, koala = コアラ, kangaroo = カンガルー, hippo = カバ, rhino = サイ, leopard = 豹, donkey = ロバ,
goat = ヤギ
""",
    counter="頭",
)
_BIRDS = nouns(
    """
bird = 鳥, chicken = 鶏, rabbit = 兎, duck = 鴨, crow = カラス, penguin = ペンギン, crane = 鶴, owl = フクロウ,
swan = 白鳥, pigeon = 鳩, eagle = 鷲, sparrow = スズメ, parrot = オウム, ostrich = ダチョウ, peacock = 孔雀,
flamingo = フラミンゴ, seagull = カモメ, swallow = ツバメ
""",
    counter="羽",
)

_SHOPS = nouns(
    """
hotel = ホテル, bank = 銀行, hospital = 病院, restaurant = レストラン, post office = 郵便 局,
convenience store = コンビニ, supermarket = スーパー, library = 図書館, museum = 博物館, bookstore = 本屋,
cafe = カフェ, pharmacy = 薬局, department store = デパート, theater = 劇場, movie theater = 映画 館,
bakery = パン 屋, zoo = 動物 園, gas station = ガソリン スタンド, art gallery = 美術館, swimming pool = プール,
aquarium = 水族館, flower shop = 花屋, gym = ジム, bar = バー, pub = 居酒屋, public bath = 銭湯, barber = 床屋,
beauty salon = 美容院, dentist = 歯医者, fish market = 魚 市場, shoe store = 靴屋, laundry = クリーニング 屋,
sushi restaurant = 寿司 屋, noodle shop = ラーメン 屋, souvenir shop = 土産 物 屋, information desk = 案内 所,
amusement park = 遊園地, botanical garden = 植物 園, farm = 農場, inn = 旅館, hot spring = 温泉,
electronics store = 電器 店, toy store = おもちゃ 屋, butcher = 肉屋, greengrocer = 八百屋,
tourist office = 観光 案内 所, concert hall = コンサート ホール
"""
)
_LANDMARKS = nouns(
    """
station = 駅, bus stop = バス停, park = 公園, police box = 交番, airport = 空港, temple = お 寺, shrine = 神社,
parking lot = 駐車 場, city hall = 市役所, castle = 城, church = 教会, taxi stand = タクシー 乗り場,
fire station = 消防 署, court = 裁判所, harbor = 港, school = 学校, university = 大学, embassy = 大使館,
kindergarten = 幼稚園, factory = 工場, stadium = スタジアム, office = 会社, pond = 池, bridge = 橋, cemetery = 墓地,
playground = 遊び場, fountain = 噴水, toilet = お 手洗い
"""
)

_WEEKDAYS = words(
    """
monday = 月曜日, saturday = 土曜日, friday = 金曜日, sunday = 日曜日, wednesday = 水曜日, tuesday = 火曜日,
thursday = 木曜日
"""
)
_NAMES = words(
    """
mr. tanaka = 田中 さん, ms. suzuki = 鈴木 さん, mr. sato = 佐藤 さん, ms. yamada = 山田 さん,
mr. takahashi = 高橋 さん, ms. ito = 伊藤 さん, mr. watanabe = 渡辺 さん, ms. yamamoto = 山本 さん,
mr. nakamura = 中村 さん, ms. kobayashi = 小林 さん, mr. kato = 加藤 さん, ms. yoshida = 吉田 さん,
mr. sasaki = 佐々木 さん, ms. yamaguchi = 山口 さん, mr. matsumoto = 松本 さん, ms. inoue = 井上 さん,
mr. kimura = 木村 さん, ms. hayashi = 林 さん, mr. shimizu = 清水 さん, ms. saito = 斎藤 さん, mr. mori = 森 さん,
ms. ikeda = 池田 さん, mr. hashimoto = 橋本 さん, ms. abe = 阿部 さん, mr. ishikawa = 石川 さん,
ms. ogawa = 小川 さん, mr. goto = 後藤 さん, ms. okada = 岡田 さん, mr. hasegawa = 長谷川 さん,
ms. murakami = 村上 さん, mr. kondo = 近藤 さん, ms. ishii = 石井 さん, mr. endo = 遠藤 さん, ms. aoki = 青木 さん,
mr. sakamoto = 坂本 さん, ms. fujita = 藤田 さん, mr. nishimura = 西村 さん, ms. fukuda = 福田 さん,
mr. ota = 太田 さん, ms. miura = 三浦 さん, mr. okamoto = 岡本 さん, ms. matsuda = 松田 さん,
mr. nakagawa = 中川 さん, ms. harada = 原田 さん, mr. ono = 小野 さん, ms. tamura = 田村 さん,
mr. takeuchi = 竹内 さん, ms. kaneko = 金子 さん, mr. wada = 和田 さん, ms. nakayama = 中山 さん,
mr. ueda = 上田 さん, ms. morita = 森田 さん
"""
)
_FIRST_NAMES = words(
    """
john = ジョン, mary = メアリー, anna = アンナ, tom = トム, emma = エマ, david = デイビッド, lisa = リサ,
paul = ポール, maria = マリア, peter = ピーター, sarah = サラ, michael = マイケル, kate = ケイト,
james = ジェームズ, laura = ローラ, robert = ロバート, julia = ジュリア, daniel = ダニエル, alice = アリス,
thomas = トーマス, nancy = ナンシー, george = ジョージ, linda = リンダ, mark = マーク, susan = スーザン,
kevin = ケビン, sophie = ソフィー, henry = ヘンリー, jane = ジェーン, oliver = オリバー, helen = ヘレン,
brian = ブライアン, carol = キャロル, steven = スティーブン, diana = ダイアナ, eric = エリック, olivia = オリビア,
frank = フランク, grace = グレース, chris = クリス, amy = エイミー, martin = マーティン, victoria = ビクトリア,
simon = サイモン, rachel = レイチェル, leo = レオ, monica = モニカ, oscar = オスカー, isabel = イザベル,
lucas = ルーカス, nina = ニーナ, felix = フェリックス, clara = クララ, hugo = ヒューゴ
"""
)
_KIN = words(
    """
my father = 父, my mother = 母, my friend = 友達, my older brother = 兄, my younger sister = 妹, my wife = 妻,
my husband = 夫, my older sister = 姉, my younger brother = 弟, my grandmother = 祖母, my grandfather = 祖父,
my son = 息子, my daughter = 娘, my uncle = おじ, my aunt = おば, my cousin = いとこ, my colleague = 同僚,
my boss = 上司, my nephew = 甥, my niece = 姪, my classmate = 同級生, my roommate = ルームメート,
my grandchild = 孫, my boyfriend = 彼氏, my girlfriend = 恋人, my landlord = 大家 さん, my assistant = 助手,
my stepmother = 継母
"""
)

LEXICON: dict[str, list[Entry]] = {
    # People
    "name": _NAMES,
    "firstname": _FIRST_NAMES,
    "kin": _KIN,
    "other": words("{kin} = {kin}, {name} = {name}, {firstname} = {firstname} さん"),
    "person": words("{other} = {other}, he = 彼, she = 彼女"),
    "group": words(
        """
we = 私たち, they = 彼ら, my parents = 両親, my friends = 友人 たち, the children = 子供 たち,
the students = 学生 たち, the tourists = 観光 客 たち, my grandparents = 祖父母, my neighbors = 隣人 たち
"""
    ),
    "job": nouns(
        """
teacher = 教師, doctor = 医者, student = 学生, nurse = 看護 師, engineer = 技術 者, lawyer = 弁護士, writer = 作家,
artist = 芸術 家, singer = 歌手, chef = 料理 人, police officer = 警察官, actor = 俳優, farmer = 農家,
scientist = 科学 者, journalist = 記者, photographer = 写真 家, pilot = パイロット, musician = 音楽 家,
driver = 運転手, waiter = ウエーター, designer = デザイナー, carpenter = 大工, firefighter = 消防 士,
secretary = 秘書, translator = 翻訳 家, architect = 建築 家, banker = 銀行 員, professor = 教授,
programmer = プログラマー, politician = 政治 家, soldier = 兵士, fisherman/fishermen = 漁師, painter = 画家,
poet = 詩人, librarian = 司書, veterinarian = 獣医, pharmacist = 薬剤師, judge = 裁判官, accountant = 会計 士,
hairdresser = 美容 師, tour guide = ガイド, interpreter = 通訳, dancer = ダンサー, novelist = 小説 家,
comedian = お笑い 芸人, sailor = 船員, baker = パン 職人, plumber = 配管 工, astronaut = 宇宙 飛行 士,
magician = 手品 師, monk = 僧侶, composer = 作曲 家, film director = 映画 監督, office worker = 会社 員,
civil servant = 公務員, historian = 歴史 家, mathematician = 数学 者, gardener = 庭師, tailor = 仕立て 屋,
receptionist = 受付 係
"""
    ),
    "child": nouns("son = 息子, daughter = 娘, grandchild/grandchildren = 孫, student = 生徒, friend = 友人"),
    # Where
    "city": words(
        """
tokyo = 東京, kyoto = 京都, osaka = 大阪, nagoya = 名古屋, sapporo = 札幌, fukuoka = 福岡, hiroshima = 広島,
kobe = 神戸, nara = 奈良, yokohama = 横浜, sendai = 仙台, nagasaki = 長崎, kanazawa = 金沢, kamakura = 鎌倉,
nikko = 日光, hakone = 箱根, nagano = 長野, kumamoto = 熊本, kagoshima = 鹿児島, niigata = 新潟,
hakodate = 函館, okayama = 岡山, matsuyama = 松山, takayama = 高山, otaru = 小樽, himeji = 姫路, shizuoka = 静岡,
aomori = 青森, akita = 秋田, morioka = 盛岡, yamagata = 山形, fukushima = 福島, mito = 水戸, chiba = 千葉,
saitama = 埼玉, kawasaki = 川崎, atami = 熱海, kofu = 甲府, matsumoto = 松本, toyama = 富山, fukui = 福井,
gifu = 岐阜, ise = 伊勢, tsu = 津, otsu = 大津, wakayama = 和歌山, tottori = 鳥取, matsue = 松江, kurashiki = 倉敷,
yamaguchi = 山口, takamatsu = 高松, tokushima = 徳島, kochi = 高知, saga = 佐賀, beppu = 別府, oita = 大分,
miyazaki = 宮崎, asahikawa = 旭川, kushiro = 釧路, hirosaki = 弘前, karuizawa = 軽井沢,
odawara = 小田原, hamamatsu = 浜松, uji = 宇治, onomichi = 尾道, shimonoseki = 下関, kitakyushu = 北九州,
sasebo = 佐世保, furano = 富良野, sakai = 堺
"""
    ),
    "stop": words(
        """
shinjuku = 新宿, shibuya = 渋谷, ueno = 上野, ikebukuro = 池袋, ginza = 銀座, akihabara = 秋葉原, shinagawa = 品川,
umeda = 梅田, namba = 難波, harajuku = 原宿, asakusa = 浅草, roppongi = 六本木, ebisu = 恵比寿, meguro = 目黒,
nakano = 中野, kichijoji = 吉祥寺, yurakucho = 有楽町, shimbashi = 新橋, hakata = 博多, tennoji = 天王寺,
sannomiya = 三宮, gion = 祇園, arashiyama = 嵐山, omiya = 大宮, tachikawa = 立川, mitaka = 三鷹,
takadanobaba = 高田馬場, yotsuya = 四ツ谷, kanda = 神田, iidabashi = 飯田橋, nippori = 日暮里, komagome = 駒込,
sugamo = 巣鴨, gotanda = 五反田, yoyogi = 代々木, aoyama = 青山, tsukiji = 築地, odaiba = お台場, machida = 町田,
ogikubo = 荻窪, fushimi = 伏見, sakae = 栄
"""
    ),
    "town": words(
        """
paris = パリ, london = ロンドン, new york = ニューヨーク, rome = ローマ, beijing = 北京, seoul = ソウル,
berlin = ベルリン, sydney = シドニー, bangkok = バンコク, hong kong = 香港, shanghai = 上海,
singapore = シンガポール, madrid = マドリード, los angeles = ロサンゼルス, moscow = モスクワ, vienna = ウィーン,
boston = ボストン, chicago = シカゴ, toronto = トロント, hanoi = ハノイ, taipei = 台北, amsterdam = アムステルダム,
barcelona = バルセロナ, prague = プラハ, istanbul = イスタンブール, cairo = カイロ, munich = ミュンヘン,
milan = ミラノ, venice = ベネチア, geneva = ジュネーブ, vancouver = バンクーバー, honolulu = ホノルル,
seattle = シアトル, okinawa = 沖縄, lisbon = リスボン, dublin = ダブリン, helsinki = ヘルシンキ, oslo = オスロ,
stockholm = ストックホルム, copenhagen = コペンハーゲン, brussels = ブリュッセル, zurich = チューリッヒ,
athens = アテネ, budapest = ブダペスト, warsaw = ワルシャワ, manila = マニラ, jakarta = ジャカルタ, delhi = デリー,
mumbai = ムンバイ, dubai = ドバイ, melbourne = メルボルン, nairobi = ナイロビ, lima = リマ, busan = 釜山,
florence = フィレンツェ, edinburgh = エディンバラ, montreal = モントリオール, havana = ハバナ,
kathmandu = カトマンズ, san francisco = サンフランシスコ
"""
    ),
    "country": words(
        """
america = アメリカ, china = 中国, france = フランス, germany = ドイツ, korea = 韓国, italy = イタリア,
england = イギリス, spain = スペイン, canada = カナダ, australia = オーストラリア, india = インド,
brazil = ブラジル, thailand = タイ, vietnam = ベトナム, russia = ロシア, mexico = メキシコ, taiwan = 台湾,
indonesia = インドネシア, switzerland = スイス, sweden = スウェーデン, turkey = トルコ, egypt = エジプト,
portugal = ポルトガル, poland = ポーランド, norway = ノルウェー, finland = フィンランド, greece = ギリシャ,
austria = オーストリア, belgium = ベルギー, denmark = デンマーク, ireland = アイルランド,
new zealand = ニュージーランド, argentina = アルゼンチン, peru = ペルー, chile = チリ, kenya = ケニア,
malaysia = マレーシア, nepal = ネパール, mongolia = モンゴル, hungary = ハンガリー, iceland = アイスランド,
cuba = キューバ, morocco = モロッコ, ethiopia = エチオピア, nigeria = ナイジェリア, cambodia = カンボジア,
myanmar = ミャンマー, ukraine = ウクライナ, israel = イスラエル, colombia = コロンビア, croatia = クロアチア,
jamaica = ジャマイカ, ghana = ガーナ, tunisia = チュニジア, bolivia = ボリビア
"""
    ),
    "anywhere": words("{city} = {city}, {town} = {town}, {country} = {country}"),
    "language": words(
        """
english = 英語, french = フランス 語, chinese = 中国 語, spanish = スペイン 語, german = ドイツ 語,
korean = 韓国 語, italian = イタリア 語, russian = ロシア 語, portuguese = ポルトガル 語, thai = タイ 語,
vietnamese = ベトナム 語, arabic = アラビア 語, dutch = オランダ 語, swedish = スウェーデン 語,
hindi = ヒンディー 語, turkish = トルコ 語, greek = ギリシャ 語, polish = ポーランド 語, latin = ラテン 語,
finnish = フィンランド 語, indonesian = インドネシア 語
"""
    ),
    "sight": words(
        """
mount fuji = 富士山, tokyo tower = 東京 タワー, osaka castle = 大阪 城, the imperial palace = 皇居,
the golden pavilion = 金閣寺, the silver pavilion = 銀閣寺, the great buddha = 大仏, the sensoji temple = 浅草寺,
the meiji shrine = 明治 神宮, himeji castle = 姫路 城, lake biwa = 琵琶湖, nijo castle = 二条 城,
the kabuki theater = 歌舞伎 座, the kiyomizu temple = 清水寺, miyajima = 宮島, the ise shrine = 伊勢 神宮,
the todaiji temple = 東大寺, mount aso = 阿蘇山, the peace park = 平和 公園, the snow festival = 雪 まつり,
lake ashi = 芦ノ湖, the kegon falls = 華厳 の 滝
"""
    ),
    "shop": _SHOPS,
    "building": _mixed(_LANDMARKS, _SHOPS),
    "place": words(
        """
park = 公園, zoo = 動物 園, forest = 森, garden = 庭, lake = 湖, village = 村, mountains = 山, river = 川,
barn = 納屋, field = 野原, cage = 檻, valley = 谷, jungle = ジャングル, yard = 中庭, cave = 洞窟
"""
    ),
    "path": words("park = 公園, forest = 森, garden = 庭, village = 村, mountains = 山, square = 広場, field = 野原"),
    "relation": words(
        """
next to = 隣, in front of = 前, behind = 裏, across from = 向かい, near = 近く, to the left of = 左,
to the right of = 右, on this side of = 手前, on the other side of = 向こう
"""
    ),
    "furniture": words(
        """
table = テーブル, desk = 机, chair = 椅子, shelf = 棚, sofa = ソファー, bench = ベンチ, stairs = 階段,
counter = カウンター, cupboard = 食器 棚, stove = ストーブ, wardrobe = 洋服 だんす, bookcase = 本棚, fence = 塀,
roof = 屋根, tree = 木
"""
    ),
    "spot": words(
        """
on = 上, under = 下, behind = 後ろ, next to = 横, in front of = 前, near = そば, to the left of = 左 側,
to the right of = 右 側
"""
    ),
    "side": words("left = 左, right = 右"),
    "corner": words(
        "corner = 角, traffic light = 信号, intersection = 交差点, street = 通り, crossing = 踏切, alley = 路地"
    ),
    "nth": [
        *words("first = 最初"),
        *_spoken(*((numerals.ordinal(n), f"{numerals.number(n)[1]} 番目") for n in range(2, 8))),
    ],
    "floor": _spoken(*((numerals.ordinal(n), f"{numerals.number(n)[1]} 階") for n in (2, 3, 1, *range(4, 31)))),
    # When
    "clock": _clocks(9, 10, 8, 7, 11, 3, 2, 4, 1, 5, 6, 12),
    "morning": _clocks(9, 8, 10, 7, 11, 6),
    "evening": _clocks(8, 7, 9, 6, 10, 11),
    "time": words(
        "{clock} = {clock}, {morning} in the morning = 午前 {morning}, {evening} in the evening = 夜 {evening}"
    ),
    "weekday": _WEEKDAYS,
    "month": _spoken(*(numerals.month(n) for n in _MONTHS)),
    "date": _spoken(*(numerals.date(n, day) for day in range(1, 29) for n in _MONTHS)),
    "year": _spoken(*(numerals.year(n) for n in (*range(2000, 1940, -1), *range(2001, 2025)))),
    "season": words("summer = 夏, winter = 冬, spring = 春, autumn = 秋"),
    "past": words(
        """
yesterday = 昨日, last week = 先週, last night = 昨夜, last year = 去年, last month = 先月, this morning = 今朝,
the day before yesterday = おととい, last weekend = 先週 末, {few} days ago = {few} 日 前,
last {weekday} = 先週 の {weekday}, {few} weeks ago = {few} 週間 前, last {season} = 去年 の {season},
{few} months ago = {few} か月 前, {few} years ago = {few} 年 前, {few} hours ago = {few} 時間 前
"""
    ),
    "future": words(
        """
tomorrow = 明日, next week = 来週, tonight = 今夜, next month = 来月, next year = 来年, this weekend = 今週 末,
the day after tomorrow = あさって, this afternoon = 今日 の 午後, next {weekday} = 来週 の {weekday},
next {season} = 来年 の {season}, tomorrow morning = 明日 の 朝, tomorrow evening = 明日 の 夜
"""
    ),
    "always": words(
        """
every day = 毎日, every morning = 毎朝, every week = 毎週, every night = 毎晩, every {weekday} = 毎週 {weekday} に,
every month = 毎月, every weekend = 毎週 末, every year = 毎年, every {season} = 毎年 {season} に
"""
    ),
    # How many
    "few": _numbers(range(2, 11)),
    "count": _numbers(range(2, 25)),
    "many": _numbers(_round_first(range(2, 1000))),
    "minutes": _numbers((10, 20, 30, 15, 5, 40, 45, 50, 25, 35), range(2, 60)),
    "age": _numbers((20, 30, 8, 40, 18, 25, 10, 50, 16, 60, 70), range(3, 100)),
    "degrees": _numbers((20, 30, 25, 10, 15, 28, 5), range(2, 41)),
    "meters": _numbers((100, 200, 50, 300, 500, 400), range(10, 1000, 10)),
    "track": _numbers(range(1, 24)),
    "price": _spoken(*map(numerals.price, _round_first(range(80, 30_000, 10)))),
    "room": _spoken(*(numerals.digits(100 * floor + door) for door in range(1, 30) for floor in range(2, 10))),
    "digit": _spoken(*map(numerals.digits, range(10))),
    "currency": words(
        """
dollars = ドル, euros = ユーロ, pounds = ポンド, won = ウォン, yuan = 元, francs = フラン, rupees = ルピー,
rubles = ルーブル, pesos = ペソ, baht = バーツ
"""
    ),
    # What
    "goods": _GOODS,
    "small": _SMALL_GOODS,
    "produce": _PRODUCE,
    "reading": _READINGS,
    "machine": _MACHINES,
    "garment": _mixed(_GARMENTS, _TOPS),
    "animal": _mixed(_SMALL_ANIMALS, _LARGE_ANIMALS, _BIRDS),
    "pet": _SMALL_ANIMALS[:9],
    "wear": _mixed(*(words(text, te=te) for te, text in _CLOTHES.items())),
    "color": words(
        """
red = 赤, blue = 青, black = 黒, white = 白, green = 緑, pink = ピンク, brown = 茶色, yellow = 黄色, gray = 灰色,
purple = 紫, orange = オレンジ 色, navy = 紺, beige = ベージュ, gold = 金色, silver = 銀色, turquoise = 水色
"""
    ),
    "material": words(
        """
wood = 木, paper = 紙, silk = 絹, leather = 革, glass = ガラス, cotton = 綿, gold = 金, silver = 銀,
plastic = プラスチック, bamboo = 竹, stone = 石, wool = 羊毛, iron = 鉄, rubber = ゴム, copper = 銅, linen = 麻
"""
    ),
    "food": words(
        """
sushi = 寿司, ramen = ラーメン, bread = パン, rice = ご飯, tempura = 天ぷら, meat = 肉, fish = 魚, curry = カレー,
cheese = チーズ, chicken = 鶏肉, beef = 牛肉, soup = スープ, salad = サラダ, miso soup = 味噌汁, sashimi = 刺身,
udon = うどん, soba = そば, ice cream = アイス クリーム, pork = 豚肉, tofu = 豆腐, chocolate = チョコレート,
grilled fish = 焼き 魚, yakitori = 焼き鳥, fried rice = チャーハン, pasta = パスタ, tuna = マグロ, salmon = 鮭,
shrimp = エビ, octopus = タコ, squid = イカ, eel = 鰻, okonomiyaki = お好み焼き, takoyaki = たこ焼き,
sukiyaki = すき焼き, natto = 納豆, butter = バター, honey = 蜂蜜, jam = ジャム, yogurt = ヨーグルト,
steak = ステーキ, spaghetti = スパゲッティ, stew = シチュー, fruit = 果物, garlic = ニンニク, ginger = 生姜,
seaweed = 海苔, wasabi = わさび, spinach = ほうれん草, ham = ハム, bacon = ベーコン, pudding = プリン, mochi = 餅,
fried chicken = 唐揚げ, tonkatsu = とんかつ, roast beef = ロースト ビーフ, kimchi = キムチ, corn = トウモロコシ,
mackerel = 鯖, sea bream = 鯛, sea urchin = ウニ, salmon roe = イクラ, lamb = 羊 の 肉, porridge = お粥,
lobster = 伊勢エビ, lettuce = レタス, celery = セロリ, broccoli = ブロッコリー, asparagus = アスパラガス,
popcorn = ポップコーン, sorbet = シャーベット, apple pie = アップル パイ, cheesecake = チーズ ケーキ,
toast = トースト, cereal = シリアル, omelet rice = オムライス, cod = 鱈, bamboo shoot = 筍,
tofu steak = 豆腐 ステーキ, fried tofu = 油揚げ, hot pot = 鍋料理, paella = パエリア, risotto = リゾット
"""
    ),
    "spice": words("""
salt = 塩, sugar = 砂糖, soy sauce = 醤油, pepper = 胡椒, vinegar = 酢, mustard = からし, oil = 油,
mayonnaise = マヨネーズ, ketchup = ケチャップ, sesame = ごま, cinnamon = シナモン
"""),
    "drink": _mixed(_HOT_DRINKS, _COLD_DRINKS),
    "meal": words("breakfast = 朝食, dinner = 夕食, lunch = 昼食"),
    "flower": nouns(
        """
cherry tree = 桜, rose = バラ, lily = 百合, sunflower = ひまわり, plum tree = 梅, chrysanthemum = 菊, orchid = 蘭,
iris = アヤメ, camellia = 椿, tulip = チューリップ, hydrangea = 紫陽花, morning glory = 朝顔, wisteria = 藤,
dandelion = タンポポ, violet = スミレ, azalea = ツツジ, cosmos/cosmos = コスモス, carnation = カーネーション
"""
    ),
    "belonging": words(
        """
passport = パスポート, wallet = 財布, bag = 鞄, cell phone = 携帯 電話, ticket = 切符, key = 鍵, umbrella = 傘,
camera = カメラ, suitcase = スーツケース, watch = 腕時計, credit card = クレジット カード, hat = 帽子, ring = 指輪,
notebook = ノート, purse = ハンド バッグ, driver's license = 運転 免許 証, laptop = ノート パソコン,
charger = 充電 器, luggage = 荷物, insurance card = 保険 証
"""
    ),
    "fixture": words(
        """
air conditioner = エアコン, shower = シャワー, toilet = トイレ, television = テレビ, key = 鍵, lamp = ランプ,
heater = 暖房, telephone = 電話, window = 窓, refrigerator = 冷蔵庫, door = ドア, faucet = 蛇口,
alarm clock = 目覚まし 時計, safe = 金庫, kettle = ポット, iron = アイロン, bathtub = 浴槽, light switch = スイッチ,
outlet = コンセント, remote control = リモコン
"""
    ),
    "bedroom": words(
        """
a single room = シングル ルーム, a double room = ダブル ルーム, a twin room = ツイン ルーム,
a japanese style room = 和室, a suite = スイート ルーム, a non-smoking room = 禁煙 ルーム,
a room with a view = 眺め の いい 部屋, a western style room = 洋室, a family room = ファミリー ルーム,
a quiet room = 静か な 部屋
"""
    ),
    "chamber": words("""
room = 部屋, kitchen = 台所, bathroom = 浴室, garage = 車庫, classroom = 教室, living room = 居間, attic = 屋根裏,
corridor = 廊下, bedroom = 寝室, basement = 地下 室, entrance = 玄関
"""),
    "train": words(
        """
train = 電車, bus = バス, express train = 急行, bullet train = 新幹線, ferry = フェリー, night bus = 夜行 バス,
local train = 普通 電車, shuttle bus = シャトル バス, sightseeing bus = 観光 バス
"""
    ),
    "vehicle": words(
        """
train = 電車, bus = バス, car = 車, taxi = タクシー, bicycle = 自転車, subway = 地下鉄, plane = 飛行機, ship = 船,
bullet train = 新幹線, motorcycle = バイク, ferry = フェリー, streetcar = 路面 電車, monorail = モノレール,
ropeway = ロープウェイ, boat = ボート, helicopter = ヘリコプター
"""
    ),
    "cause": words(
        """
heavy snow = 大雪, the typhoon = 台風, fog = 霧, an accident = 事故, an earthquake = 地震, heavy rain = 大雨,
strong wind = 強風, construction = 工事, a strike = ストライキ, a power failure = 停電, thunder = 雷,
a flood = 洪水, a landslide = 土砂 崩れ, a signal failure = 信号 故障, engine trouble = エンジン の 故障
"""
    ),
    # Doing
    "subject": words(
        """
japanese = 日本語, mathematics = 数学, history = 歴史, law = 法律, economics = 経済 学, medicine = 医学,
physics = 物理 学, literature = 文学, chemistry = 化学, biology = 生物 学, art = 美術, music = 音楽,
philosophy = 哲学, geography = 地理, psychology = 心理 学, politics = 政治 学, engineering = 工学,
linguistics = 言語 学, astronomy = 天文学, architecture = 建築 学, sociology = 社会 学, education = 教育 学,
computer science = 情報 科学, statistics = 統計 学, agriculture = 農学
"""
    ),
    "sport": words(
        """
tennis = テニス, soccer = サッカー, baseball = 野球, golf = ゴルフ, basketball = バスケットボール,
volleyball = バレーボール, table tennis = 卓球, badminton = バドミントン, rugby = ラグビー,
ice hockey = アイス ホッケー, handball = ハンドボール, chess = チェス, shogi = 将棋, cards = トランプ,
video games = テレビ ゲーム, go = 囲碁, softball = ソフトボール, billiards = ビリヤード
"""
    ),
    "instrument": _mixed(_STRINGS, _WINDS),
    "hobby": words(
        """
reading = 読書, cooking = 料理, traveling = 旅行, photography = 写真, fishing = 釣り, gardening = 園芸,
swimming = 水泳, music = 音楽, painting = 絵画, dancing = ダンス, hiking = ハイキング, skiing = スキー,
camping = キャンプ, knitting = 編み物, mountain climbing = 登山, calligraphy = 書道, jogging = ジョギング,
yoga = ヨガ, shopping = 買い物, karaoke = カラオケ, judo = 柔道, karate = 空手, sumo = 相撲, kendo = 剣道,
surfing = サーフィン, skating = スケート, origami = 折り紙, tea ceremony = 茶道, flower arrangement = 生け花,
cycling = サイクリング, pottery = 陶芸, boxing = ボクシング, ballet = バレエ, opera = オペラ, jazz = ジャズ,
poetry = 詩, sewing = 裁縫, horse riding = 乗馬, archery = 弓道, kabuki = 歌舞伎, snowboarding = スノーボード,
bird watching = 野鳥 観察, stamp collecting = 切手 集め, driving = ドライブ, marathon running = マラソン
"""
    ),
    "music": words(
        """
music = 音楽, the radio = ラジオ, jazz = ジャズ, classical music = クラシック 音楽, rock music = ロック,
the news = ニュース, pop music = ポップス, folk songs = 民謡, a concert = コンサート, the lecture = 講義,
bird songs = 鳥 の 声
"""
    ),
    "show": words(
        """
a movie = 映画, the news = ニュース, a baseball game = 野球 の 試合, a play = 芝居, the fireworks = 花火,
the sunset = 夕日, a soccer game = サッカー の 試合, a cartoon = アニメ, the stars = 星, a parade = パレード,
a documentary = ドキュメンタリー, the cherry blossoms = 桜, a sumo match = 相撲 の 取組, a musical = ミュージカル,
the full moon = 満月, a drama = ドラマ
"""
    ),
    "text": words(
        """
a letter = 手紙, a report = 報告 書, a diary = 日記, an email = メール, a poem = 詩, an essay = 作文, a song = 曲,
a speech = スピーチ の 原稿, a thesis = 論文, a postcard = 葉書, a recipe = レシピ, a script = 台本
"""
    ),
    "topic": words(
        """
work = 仕事, the weather = 天気, money = お金, the future = 将来, politics = 政治, the exam = 試験, marriage = 結婚,
the trip = 旅行, the environment = 環境, health = 健康, the economy = 経済, peace = 平和, the accident = 事故,
love = 恋愛, the plan = 計画, the problem = 問題, culture = 文化, food = 食べ物, religion = 宗教, education = 教育,
taxes = 税金
"""
    ),
    "event": words(
        """
meeting = 会議, concert = コンサート, party = パーティー, movie = 映画, class = 授業, festival = お 祭り,
exam = 試験, game = 試合, tour = ツアー, wedding = 結婚 式, show = ショー, lecture = 講義, interview = 面接,
ceremony = 式典, exhibition = 展覧 会, graduation = 卒業 式, auction = オークション, workshop = 講習 会,
race = レース, play = 芝居, rehearsal = リハーサル, funeral = 葬式, speech contest = スピーチ コンテスト,
fireworks display = 花火 大会, tea party = お茶 会, election = 選挙, sale = セール
"""
    ),
    "deed": deeds(
        """
eat ate eating | {food} | {food} を | 食べ | 食べ て
drink drank drinking | {drink} | {drink} を | 飲み | 飲ん で
read read reading | {reading.a} | {reading} を | 読み | 読ん で
watch watched watching | {show} | {show} を | 見 | 見 て
buy bought buying | {goods.a} | {goods} を | 買い | 買っ て
play played playing | {sport} | {sport} を | し | し て
study studied studying | {subject} | {subject} を | 勉強 し | 勉強 し て
write wrote writing | {text} | {text} を | 書き | 書い て
listen listened listening | to {music} | {music} を | 聞き | 聞い て
make made making | {food} | {food} を | 作り | 作っ て
clean cleaned cleaning | the {chamber} | {chamber} を | 掃除 し | 掃除 し て
play played playing | the {instrument} | {instrument} を | {instrument.stem} | {instrument.te}
work worked working | at {shop.a} | {shop} で | 働き | 働い て
take took taking | pictures of {sight} | {sight} の 写真 を | 撮り | 撮っ て
draw drew drawing | pictures of {animal.plural} | {animal} の 絵 を | 描き | 描い て
talk talked talking | to {job.a} | {job} と | 話し | 話し て
walk walked walking | in the {path} | {path} を | 歩き | 歩い て
learn learned learning | {language} | {language} を | 習い | 習っ て
teach taught teaching | {subject} | {subject} を | 教え | 教え て
look looked looking | for {goods.a} | {goods} を | 探し | 探し て
use used using | {machine.a} | {machine} を | 使い | 使っ て
order ordered ordering | {food} | {food} を | 注文 し | 注文 し て
visit visited visiting | {sight} | {sight} を | 訪れ | 訪れ て
wait waited waiting | for the {vehicle} | {vehicle} を | 待ち | 待っ て
practice practiced practicing | {sport} | {sport} を | 練習 し | 練習 し て
repair repaired repairing | {machine.a} | {machine} を | 修理 し | 修理 し て
think thought thinking | about {topic} | {topic} に つい て | 考え | 考え て
swim swam swimming | in the pool | プール で | 泳ぎ | 泳い で
sing sang singing | a song | 歌 を | 歌い | 歌っ て
wash washed washing | {garment.a} | {garment} を | 洗い | 洗っ て
prepare prepared preparing | {meal} | {meal} の 準備 を | し | し て
drive drove driving | a truck | トラック を | 運転 し | 運転 し て
grow grew growing | {flower.plural} | {flower} を | 育て | 育て て
feed fed feeding | the {animal.plural} | {animal} に 餌 を | やり | やっ て
sell sold selling | {produce.plural} | {produce} を | 売り | 売っ て
dance danced dancing | at the party | パーティー で | 踊り | 踊っ て
borrow borrowed borrowing | {reading.a} from the library | 図書館 から {reading} を | 借り | 借り て
cut cut cutting | {produce.plural} | {produce} を | 切り | 切っ て
run ran running | in the park | 公園 を | 走り | 走っ て
call called calling | {job.a} | {job} に 電話 を | かけ | かけ て
bake baked baking | cookies | クッキー を | 焼き | 焼い て
carry carried carrying | {goods.a} | {goods} を | 運び | 運ん で
play played playing | with {pet.a} | {pet} と | 遊び | 遊ん で
argue argued arguing | about {topic} | {topic} に つい て | 議論 し | 議論 し て
rest rested resting | at the hotel | ホテル で | 休み | 休ん で
take took taking | a bath | お 風呂 に | 入り | 入っ て
climb climbed climbing | a mountain | 山 に | 登り | 登っ て
help helped helping | {job.a} | {job} を | 手伝い | 手伝っ て
collect collected collecting | {goods.plural} | {goods} を | 集め | 集め て
paint painted painting | the fence | 塀 に ペンキ を | 塗り | 塗っ て
sell sold selling | {machine.a} | {machine} を | 売り | 売っ て
photograph photographed photographing | {animal.plural} | {animal} を | 撮影 し | 撮影 し て
translate translated translating | {reading.a} into {language} | {reading} を {language} に | 翻訳 し | 翻訳 し て
design designed designing | {garment.a} | {garment} を | デザイン し | デザイン し て
count counted counting | the {animal.plural} | {animal} を | 数え | 数え て
research researched researching | {topic} | {topic} に つい て | 調べ | 調べ て
laugh laughed laughing | in the classroom | 教室 で | 笑い | 笑っ て
cry cried crying | in the bedroom | 寝室 で | 泣き | 泣い て
"""
    ),
    "rule": deeds(
        """
take took taking | pictures | 写真 を | 撮り | 撮っ て
smoke smoked smoking | | 煙草 を | 吸い | 吸っ て
park parked parking | a car | 車 を | 止め | 止め て
eat ate eating | {food} | {food} を | 食べ | 食べ て
drink drank drinking | {drink} | {drink} を | 飲み | 飲ん で
swim swam swimming | | | 泳ぎ | 泳い で
play played playing | {sport} | {sport} を | し | し て
use used using | {machine.a} | {machine} を | 使い | 使っ て
sit sat sitting | | | 座り | 座っ て
play played playing | the {instrument} | {instrument} を | {instrument.stem} | {instrument.te}
feed fed feeding | the {animal.plural} | {animal} に 餌 を | やり | やっ て
fish fished fishing | | 釣り を | し | し て
leave left leaving | {goods.a} | {goods} を | 置き | 置い て
sleep slept sleeping | | | 寝 | 寝 て
sell sold selling | {goods.plural} | {goods} を | 売り | 売っ て
sing sang singing | | 歌 を | 歌い | 歌っ て
camp camped camping | | キャンプ を | し | し て
throw threw throwing | away trash | ゴミ を | 捨て | 捨て て
speak spoke speaking | {language} | {language} を | 話し | 話し て
try tried trying | on {garment.a} | {garment} を | 試着 し | 試着 し て
run ran running | | | 走り | 走っ て
wait waited waiting | | | 待ち | 待っ て
shout shouted shouting | | | 叫び | 叫ん で
"""
    ),
    # Like what
    "quality": adjectives(
        """
big/bigger = 大きい, new/newer = 新しい, small/smaller = 小さい, old/older = 古い, cheap/cheaper = 安い,
beautiful = 美しい, expensive = 高い, cute/cuter = かわいい, heavy/heavier = 重い, light/lighter = 軽い,
strange/stranger = 変 な, convenient = 便利 な, rare/rarer = 珍しい, wonderful = 素晴らしい, round/rounder = 丸い,
sturdy/sturdier = 丈夫 な, dirty/dirtier = 汚い, fashionable = おしゃれ な, simple/simpler = シンプル な,
elegant = 上品 な, flashy/flashier = 派手 な, valuable = 貴重 な, luxurious = 豪華 な, modern = モダン な,
colorful = カラフル な, dark/darker = 暗い, important = 大切 な, perfect = 完璧 な, lovely/lovelier = 素敵 な,
unusual = 独特 な, traditional = 伝統 的 な, plain/plainer = 地味 な
"""
    ),
    "scene": adjectives(
        """
quiet/quieter = 静か な, big/bigger = 大きい, lively/livelier = にぎやか な, beautiful = 美しい, cold/colder = 寒い,
hot/hotter = 暑い, famous = 有名 な, safe/safer = 安全 な, wide/wider = 広い, clean/cleaner = きれい な,
interesting = 面白い, warm/warmer = 暖かい, peaceful = 平和 な, convenient = 便利 な, old/older = 古い,
dangerous = 危険 な, far/farther = 遠い, cool/cooler = 涼しい, rich/richer = 豊か な, humid = 蒸し暑い,
small/smaller = 小さい, popular = 人気 の, boring = つまらない, noisy/noisier = うるさい,
romantic = ロマンチック な, inconvenient = 不便 な, international = 国際 的 な, wonderful = 素晴らしい
"""
    ),
    "character": adjectives(
        """
kind/kinder = 親切 な, young/younger = 若い, tall/taller = 背 が 高い, friendly/friendlier = 優しい,
famous = 有名 な, interesting = 面白い, serious = まじめ な, strict/stricter = 厳しい, smart/smarter = 賢い,
cheerful = 明るい, strong/stronger = 強い, shy/shyer = 恥ずかしがり屋 の, quiet/quieter = 静か な, honest = 正直 な,
rich/richer = 裕福 な, beautiful = 美しい, polite = 丁寧 な, busy/busier = 忙しい, brave/braver = 勇敢 な,
lazy/lazier = 怠け者 の, healthy/healthier = 元気 な, stubborn = 頑固 な, selfish = わがまま な, talented = 有能 な,
modest = 謙虚 な, patient = 我慢強い, rude/ruder = 失礼 な, clumsy/clumsier = 不器用 な, generous = 寛大 な,
curious = 好奇心 旺盛 な, careful = 慎重 な, ambitious = 野心 的 な
"""
    ),
    "taste": adjectives(
        """
sweet/sweeter = 甘い, spicy/spicier = 辛い, salty/saltier = しょっぱい, hot/hotter = 熱い, cold/colder = 冷たい,
expensive = 高い, bitter = 苦い, sour = 酸っぱい, hard/harder = 硬い, soft/softer = 柔らかい,
oily/oilier = 脂っこい, strong/stronger = 濃い, mild/milder = まろやか な, cheap/cheaper = 安い
"""
    ),
    "verdict": adjectives(
        """
delicious = 美味しい, terrible = ひどい, excellent = 最高 の, fresh/fresher = 新鮮 な, famous = 有名 な,
healthy = ヘルシー な, special = 特別 な, bad = まずい, ordinary = 普通 の, popular = 人気 の
"""
    ),
    "climate": adjectives(
        """
cold/colder = 寒い, hot/hotter = 暑い, cool/cooler = 涼しい, warm/warmer = 暖かい, humid = 蒸し暑い,
chilly/chillier = 肌寒い
"""
    ),
    "sky": words("sunny = 晴れ, rainy = 雨, cloudy = 曇り, snowy = 雪, foggy = 霧, stormy = 嵐, windy = 強風"),
    "falling": words(
        "rains = 雨 が 降り, snows = 雪 が 降り, is windy = 風 が 吹き, is cloudy = 曇り, is sunny = 晴れ"
    ),
    "feeling": adjectives(
        """
happy/happier = 嬉しい, sad/sadder = 悲しい, lonely/lonelier = 寂しい, busy/busier = 忙しい, sleepy/sleepier = 眠い,
worried = 不安 な, bored = 退屈 な, embarrassed = 恥ずかしい, healthy/healthier = 元気 な, satisfied = 満足 な,
nostalgic = 懐かしい, free/freer = 暇 な, frustrated = 悔しい, jealous = うらやましい
"""
    ),
    # Health
    "body": words(
        """
head = 頭, stomach = お腹, tooth = 歯, back = 背中, leg = 脚, throat = 喉, eye = 目, knee = 膝, shoulder = 肩,
arm = 腕, neck = 首, ear = 耳, hand = 手, chest = 胸, finger = 指, foot = 足, elbow = 肘, ankle = 足首,
wrist = 手首, nose = 鼻, hip = 腰, thumb = 親指, heel = かかと, jaw = 顎, toe = つま先, tongue = 舌, cheek = 頬,
thigh = 太もも, lip = 唇, heart = 心臓
"""
    ),
    "symptom": words(
        """
a fever = 熱 が あり, a cough = 咳 が 出, a cold = 風邪 を ひい て い, the flu = インフルエンザ に かかっ て い,
a runny nose = 鼻水 が 出, hay fever = 花粉 症 で 困っ て い, a chill = 寒気 が し, diarrhea = 下痢 を し て い,
a rash = 発疹 が 出 て い, an allergy = アレルギー が あり, asthma = 喘息 が あり, dizzy spells = めまい が し,
a nosebleed = 鼻血 が 出 て い, a burn = やけど を し て い, a sprain = 捻挫 を し て い
"""
    ),
    "medicine": words(
        """
medicine = 薬, cold medicine = 風邪薬, painkiller = 痛み 止め, tablet = 錠剤, powder = 粉薬, vitamin = ビタミン 剤,
stomach medicine = 胃薬, capsule = カプセル, cough syrup = 咳止め シロップ, antibiotic = 抗生 物質
"""
    ),
}
