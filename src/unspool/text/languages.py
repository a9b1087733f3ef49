"""Languages by their most common words: texts in, the language of each out.

A word that several of the languages use counts for each of them by its share; a letter that few
languages write counts as half a word. A text has the language with the most evidence if there is
enough of it, and far more than for any other; else none. Nothing is learnt: a language that is not
listed is none of them, or passes for a near relative.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

FEWEST = 1.5  # words of evidence
MARGIN = 2.0  # times the evidence for the next language
READ = 400  # characters of a text
LETTER = 0.5  # words that a rare letter counts for
MARK = "*"  # before a letter: no word begins with it

WORDS = {
    "English": """the of and to in is was that it he she for on are with as his they be at have this
        from or had by but some what there we can out other were all your when up how said an each
        their if will do about many then them would so these her him has could been who its now did
        my than you i me our us which where why not no only just into over any because while very
        more too also those here should must don doesn didn isn wasn couldn ve ll re being two man
        woman people men women boy girl child children young old little big good great new time day
        year way work life world make made get go going come see know think take want look looking
        like wearing standing sitting walking playing holding front down through around never every
        movie film story one a""",
    "German": """der die das und ist nicht ich du er sie es wir ihr ein eine einen einem einer eines
        zu mit auf für von dem den des im am um an in als auch so wie wenn aber oder noch nur nach
        bei aus über unter vor sich sein seine hat haben hatte war waren wird werden wurde kann kein
        keine mich dich mir dir ihm ihn ihnen uns euch was wer wo warum dass daß zum zur vom beim
        zwei schon sehr mehr immer hier dort sind bin bist durch gegen ohne zwischen mann frau mein
        dein ja nein doch weil einige steht sitzt leute menschen kind kinder junge mädchen männer
        frauen gute neue alte groß große kleine zeit tag jahr leben welt haus machen geht gehen
        kommt sehen weiß etwas nichts ganz viel viele trägt spielt hund ihre""",
    "Dutch": """de het een en van ik je dat is niet in op te zijn hij zij ze we wij voor met als aan
        er maar om hem haar naar heb heeft hebben had was waren wordt worden werd kan dan nog wat
        wie waar waarom hoe bij ook door over uit tot mijn jouw ons onze hun dit deze die geen of
        wel meer veel al toen heel omdat zou moet moeten gaan gaat twee tussen tegen zonder""",
    "French": """le la les un une des de du et est en que qui dans pour pas ce il elle ne on je tu
        nous vous ils elles au aux avec sur par plus se son sa ses mon ma mes ton ta tes leur leurs
        cette ces cet mais ou où été être avoir ai as avons avez ont suis sont était c j qu d l n
        très bien tout tous toute comme si sans sous moi toi lui y à deux quand pourquoi comment
        rien jamais aussi même fait faire peut dit homme femme enfant gens petit petite grand grande
        bon bonne jour temps vie monde maison veux vais va voir savoir sais chose quelque beaucoup
        peu ici là êtes a votre notre quel quelle""",
    "Spanish": """el la los las un una unos de del y es en que no se por con para su sus lo le les
        al como más pero o este esta esto ese esa eso estos estas muy sin sobre ser estar tener ha
        hay he has han yo tú él ella nosotros ellos usted ustedes mi mis tu tus me te nos qué quién
        cómo cuándo dónde porque si también hasta desde entre cuando todo todos nada fue era son
        está están soy eres tiene tengo dos a hombre mujer niño gente bueno buena grande día tiempo
        vida mundo casa hacer puede quiero ver algo mucho poco aquí película ni así donde""",
    "Portuguese": """o a os as um uma de do da dos das e é em no na nos nas que não se por com para
        seu sua seus suas ao à aos às como mais mas ou este esta isto esse essa isso muito sem sobre
        ser estar ter há tem têm eu tu ele ela nós eles elas você vocês meu minha me te lhe qual
        quem onde quando porque também até desde entre tudo todos nada foi era são está estão sou
        pelo pela dois já só homem mulher menino gente bom boa grande dia tempo vida mundo casa
        fazer pode quero ver algo pouco aqui filme nem assim""",
    "Italian": """il lo la i gli le un uno una di del della dei delle degli a al alla da dal in nel
        nella con su sul per tra fra e è che non si come più ma o questo questa questi quello quella
        molto senza essere avere ho hai ha abbiamo hanno io tu lui lei noi voi loro mio mia tuo suo
        sua mi ti ci vi ne chi cosa dove quando perché anche sono sei siamo era erano due se già
        sempre mai niente tutto tutti uomo donna bambino gente buono grande giorno tempo vita mondo
        casa fare può voglio vedere qualcosa poco qui film così""",
    "Romanian": """și în de la cu pe nu un o este sunt a al ale ai lui ei care că să mai din pentru
        ce se am are avem aveți au era fi fost ca sau dar dacă când unde cum cine eu tu el ea noi
        voi lor mă te îl îi le ne vă acest această acesta aceasta prin după până între fără foarte
        tot toate nimic doi două îmi îți își""",
    "Swedish": """och i att det som en på är av för med till den har de inte om ett han hon jag du
        vi ni men var hade kan ska vill från så när eller här där vad vem varför hur sin sitt sina
        min mitt din ditt mig dig sig oss er dem hans hennes efter under över utan mycket mer också
        alla något någon inga ingen blev blir vara två man nu""",
    "Danish": """og i at det som en på er af for med til den har de ikke om et han hun jeg du vi men
        var havde kan skal vil fra så når eller her der hvad hvem hvorfor hvordan sin sit sine min
        mit din dit mig dig sig os jer dem hans hendes efter under over uden meget mere også alle
        noget nogen ingen blev bliver være to man nu været kunne skulle""",
    "Norwegian": """og i at det som en på er av for med til den har de ikke om et han hun jeg du vi
        men var hadde kan skal vil fra så når eller her der hva hvem hvorfor hvordan sin sitt sine
        min mitt din ditt meg deg seg oss dere dem hans hennes etter under over uten mye mer også
        alle noe noen ingen ble blir være to man nå vært kunne skulle ei""",
    "Finnish": """ja on ei että se hän oli ovat en et me te he minä sinä mutta kun niin kuin jos vai
        tai olla ollut olen olet olemme tämä tuo nämä mitä mikä kuka missä miksi miten minun sinun
        hänen meidän heidän vain myös vielä nyt siellä täällä sitä sen ne joka jotka kaikki mitään
        ole voi hyvin paljon kanssa sekä koska""",
    "Polish": """i w na nie się z do to że jest jak ale o co po tak za od już tylko czy ja ty on ona
        my wy oni mnie mi cię ci go mu jej ich nas nam był była było były będzie być mam masz ma są
        jestem jesteś ten ta te tego tej tym przez dla przy pod nad bez bardzo wszystko nic kto
        gdzie kiedy dlaczego który która które sobie może jego dwa""",
    "Czech": """a v na se je to že z do o i ale jak co po tak za od už jen jsem jsi jsme jste jsou
        byl byla bylo byli bude být mám máš má já ty on ona my vy oni mě mi tě ti ho mu ji jí nás
        nám jejich ten ta tento tato toho tom při pro pod nad bez velmi všechno nic kdo kde kdy proč
        který která které si může jeho její není nebo když aby než dva""",
    "Hungarian": """a az és egy nem hogy is van volt ez meg de ha csak már mint vagy én te ő mi ti
        ők azt ezt nekem neki engem magam lesz lenne kell lehet nincs minden semmi ki hol mikor
        miért hogyan milyen nagyon most itt ott után előtt alatt között nélkül vele hozzá még akkor
        mert aki ami amely két sem vannak voltak""",
    "Turkish": """ve bir bu da de için ile ne o ben sen biz siz onlar çok daha en gibi kadar sonra
        önce ama veya ya mi mı mu mü var yok değil olan olarak oldu olduğu olduğunu her şey hiç kim
        nerede neden nasıl şu beni seni onu bana sana ona benim senin onun bizim sizin iki ise çünkü
        eğer şimdi burada""",
    "Russian": """и в не на я что он она оно мы вы они с со как это а но по к у из за от до же бы ты
        меня тебя его её ему ей нас вам их мне тебе был была было были будет быть есть нет так
        только уже ещё все всё кто где когда почему который которая для при под над без очень этот
        эта эти если или чтобы себя может два""",
    "Ukrainian": """і й в у не на я що він вона воно ми ви вони з із як це а але по до за від же б
        ти мене тебе його її йому їй нас вам їх мені тобі був була було були буде бути є немає так
        тільки вже ще всі все хто де коли чому який яка які для при під над без дуже цей ця ці якщо
        або щоб себе може два та""",
    "Bulgarian": """и в не на аз че той тя то ние вие те с със как това а но по към от за до же би
        ти мен теб него нея му ѝ нас вас им ми съм си е сме сте са беше бяха ще бъде има няма така
        само вече още всички всичко кой къде кога защо който която които при под над без много този
        тази тези ако или да се може два""",
}  # fmt: skip
LETTERS = {
    "German": "ßäöü", "French": "çœèêùàâîô", "Spanish": "ñ¿¡", "Portuguese": "ãõçâê",
    "Italian": "èòùì", "Romanian": "ășțîâ", "Swedish": "åäö", "Danish": "åøæ", "Norwegian": "åøæ",
    "Finnish": "äö", "Polish": "łżźśąęńć", "Czech": "ěřůžšč", "Hungarian": "őűöü",
    "Turkish": "ğışçöü", "Russian": "ыэё", "Ukrainian": "їєґі", "Bulgarian": "ъ",
}  # fmt: skip
NAMES = list(WORDS)
WORD = re.compile(r"[^\W\d_]+")


def evidence() -> tuple[dict[str, int], np.ndarray]:
    """A number for each word and letter, and (V + 1, L) what it counts for each language; the last
    row is that of all other words."""
    numbers: dict[str, int] = {}
    rows = []
    for table, whole in ((WORDS, 1.0), (LETTERS, LETTER)):
        users: dict[str, list[int]] = {}
        for name, words in table.items():
            for each in dict.fromkeys(words.split() if table is WORDS else words):
                users.setdefault(each, []).append(NAMES.index(name))
        for each, languages in users.items():
            numbers[each if table is WORDS else MARK + each] = len(numbers)
            row = np.zeros(len(NAMES), dtype=np.float32)
            row[languages] = whole / len(languages)
            rows.append(row)
    return numbers, np.stack([*rows, np.zeros_like(rows[0])])


NUMBERS, SHARES = evidence()
RARE = re.compile("[" + "".join(key[1:] for key in NUMBERS if key[0] == MARK) + "]")


def languages(texts: Sequence[str]) -> list[str]:
    """The language of the beginning of each text; "" where that is not sure."""
    if not texts:
        return []
    words, starts = list[str](), []
    for text in texts:
        starts.append(len(words))
        beginning = text[:READ].lower()
        pieces = WORD.findall(beginning)
        if 2 * sum(len(piece) > 1 for piece in pieces) > len(pieces):  # letters alone are no words
            words += pieces
        if not beginning.isascii():
            words += [MARK + letter for letter in RARE.findall(beginning)]
        words.append(MARK)  # so that none is empty
    rows = np.array([NUMBERS.get(word, -1) for word in words])
    totals = np.add.reduceat(SHARES[rows], starts)  # (N, L)
    second, best = np.partition(totals, -2, axis=1)[:, -2:].T
    known = (best >= FEWEST) & (best >= MARGIN * second)
    return [NAMES[i] if sure else "" for i, sure in zip(totals.argmax(1).tolist(), known)]
