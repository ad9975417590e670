"""What a column's name says of its side, in the larger European languages, Chinese, Japanese or Korean."""

from __future__ import annotations

import re

_WORSE = re.compile(
    r"un ?gramm|agramm|ongramm|ogramm|un ?accept|inaccept|inacept|inaccett|in ?corr|inkorr|implaus|un ?plaus|anomal"
    r"|ill ?form|dispref|reject|violat|virheell|niepopraw|błędn|неграм|неправ|неверн|плох|ошиб|hatalı|yanlış"
    r"|错|錯|誤|误|非文|不可|不合|不好|不正|비문|خطأ|^\*"
    r"|\b(?:not|non|no|nicht|pas|niet|nie|inte|ikke|bad|worse|worst|wrong|false|negative|neg|starred|falsch|schlecht"
    r"|schlechter|schlechtes?|schlechten|fehler|faux|fausse|mauvaise?|pire|mal[oa]?|peor|errat[oa]|sbagliat[oa]|peggiore|fout|slecht"
    r"|slechter|onjuist|fel|dålig|väärä|zły|gorszy)\b"
)
_BETTER = re.compile(
    r"gramm|accept|acept|accett|corr|korr|plaus|well ?form|chosen|prefer|правил|верн|грамм|хорош|doğru"
    r"|正|对|對|好|合法|정문|صحيح"
    r"|\b(?:good|better|best|true|positive|pos|richtig|gut|gute[rsn]?|besser|bon|bonne|meilleure?|bueno|buena|mejor|buon[oa]"
    r"|migliore|goed|beter|rätt|bra|oikea|dobry|lepszy)\b"
)


def verdict(name: str) -> str:
    """Return "worse" or "better" if a name says it, else "".

    >>> [verdict(name) for name in ("Ungrammatisch", "is_correct", "left", "不正确", "not grammatical")]
    ['worse', 'better', '', 'worse', 'worse']
    """
    words = words_of(name)
    return "worse" if _WORSE.search(words) else "better" if _BETTER.search(words) else ""


def words_of(name: str) -> str:
    """Return a name as lower-case words.

    >>> words_of("isCorrect_now")
    'is correct now'
    """
    return re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()
