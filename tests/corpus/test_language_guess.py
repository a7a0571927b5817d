import pytest

from docboltz.corpus.analysis import LanguageGuess, TextAnalysis

TEXTS = {
    "english": "The court said on Tuesday that it would not hear the case, and the company now has "
    "to pay what it owes to the people who bought its shares before it was known.",
    "german": "Das Gericht teilte am Dienstag mit, dass es den Fall nicht verhandeln werde, und "
    "die Firma muss nun zahlen, was sie den Leuten schuldet, die ihre Aktien gekauft haben.",
    "italian": "Il tribunale ha detto martedì che non esaminerà il caso, e la società ora deve "
    "pagare quello che deve alle persone che hanno comprato le sue azioni prima.",
    "french": "Le tribunal a déclaré mardi qu'il n'examinerait pas l'affaire, et la société doit "
    "maintenant payer ce qu'elle doit aux personnes qui ont acheté ses actions avant.",
    "spanish": "El tribunal dijo el martes que no verá el caso, y la empresa tiene ahora que pagar "
    "lo que debe a las personas que compraron sus acciones antes de que se conociera.",
    "dutch": "De rechtbank zei dinsdag dat zij de zaak niet zal behandelen, en het bedrijf moet nu "
    "betalen wat het schuldig is aan de mensen die hun aandelen hebben gekocht.",
    "portuguese": "O tribunal disse na terça-feira que não vai ouvir o caso, e a empresa agora tem "
    "de pagar o que deve às pessoas que compraram as suas ações antes de ser conhecido.",
    "polish": "Sąd powiedział we wtorek, że nie rozpatrzy sprawy, a firma musi teraz zapłacić to, "
    "co jest winna ludziom, którzy kupili jej akcje, zanim skandal stał się znany.",
    "russian": "Суд заявил во вторник, что он не будет рассматривать дело, и компания теперь "
    "должна заплатить то, что она должна людям, которые купили её акции до того.",
    "greek": "Το δικαστήριο είπε την Τρίτη ότι δεν θα εξετάσει την υπόθεση και η εταιρεία πρέπει "
    "τώρα να πληρώσει αυτά που χρωστάει στους ανθρώπους που αγόρασαν τις μετοχές της.",
    "arabic": "قالت المحكمة يوم الثلاثاء إنها لن تنظر في القضية وعلى الشركة الآن أن تدفع ما "
    "عليها إلى الناس الذين اشتروا أسهمها قبل أن تعرف الفضيحة",
    "chinese": "法院周二表示不会审理此案，该公司现在必须向在丑闻曝光前购买其股票的人支付欠款。",
    "japanese": "裁判所は火曜日に、この事件を審理しないと述べ、会社は"
    "株を買った人々に支払わなければならない。",
    "korean": "법원은 화요일에 이 사건을 심리하지 않겠다고 밝혔으며 "
    "회사는 이제 사람들에게 돈을 지불해야 한다.",
    "thai": "ศาลกล่าวเมื่อวันอังคารว่าจะไม่พิจารณาคดีนี้ และบริษัทต้องจ่ายเงินให้แก่ผู้ที่ซื้อหุ้น",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_told_by_their_stop_words_or_script(language):
    guess = LanguageGuess()
    guess.add(TEXTS[language])
    found = guess.result()
    assert found is not None
    assert found[0] == language
    assert 0.25 <= found[1] <= 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the and of",  # too little
        "court tuesday hear case company pay owe people buy share scandal know battery phone " * 3,
        "17 4 99 3 " * 50,
        "def foo(x): return np.array(x).reshape(-1, 3); for i in range(10): print(i) " * 3,
        "Wireless Bluetooth headphones 20h battery, black. USB-C cable 2m nylon braided " * 3,
        # Norwegian, but nearly as well Danish:
        "Retten sa tirsdag at den ikke vil behandle saken, og selskapet må nå betale det som det "
        "skylder de menneskene som kjøpte aksjene før skandalen ble kjent.",
    ],
)
def test_nothing_is_said_when_unsure(text):
    guess = LanguageGuess()
    guess.add(text)
    assert guess.result() is None


def test_a_language_other_than_the_analysis_is_named():
    guess = LanguageGuess()
    for _ in range(5):
        guess.add(TEXTS["german"])
    assert guess.mismatch(TextAnalysis("german")) is None
    assert guess.mismatch(TextAnalysis(None)) is None
    assert guess.mismatch(TextAnalysis(pretokenised=True)) is None
    sentence = guess.mismatch(TextAnalysis())
    assert sentence is not None
    assert "German" in sentence
    assert "English" in sentence


def test_only_the_first_texts_are_looked_at():
    guess = LanguageGuess()
    for _ in range(1000):
        guess.add(TEXTS["german"])
    before = guess.result()
    for _ in range(5000):
        guess.add(TEXTS["english"])
    assert guess.result() == before
