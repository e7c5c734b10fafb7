"""Languages of a translator, by the codes that its folder names: ISO 639-1 and 639-3."""

import re
from collections.abc import Mapping

from transformer.huggingface.folder import Refused

CODES = {
    "Afrikaans": "af afr", "Albanian": "sq sqi", "Arabic": "ar ara", "Armenian": "hy hye", "Azerbaijani": "az aze",
    "Basque": "eu eus", "Belarusian": "be bel", "Bengali": "bn ben", "Bulgarian": "bg bul", "Catalan": "ca cat",
    "Chinese": "zh zho", "Croatian": "hr hrv", "Czech": "cs ces", "Danish": "da dan", "Dutch": "nl nld",
    "English": "en eng", "Esperanto": "eo epo", "Estonian": "et est", "Finnish": "fi fin", "French": "fr fra",
    "Galician": "gl glg", "Georgian": "ka kat", "German": "de deu", "Greek": "el ell", "Hebrew": "he heb",
    "Hindi": "hi hin", "Hungarian": "hu hun", "Icelandic": "is isl", "Indonesian": "id ind", "Irish": "ga gle",
    "Italian": "it ita", "Japanese": "ja jpn", "Korean": "ko kor", "Latvian": "lv lav", "Lithuanian": "lt lit",
    "Macedonian": "mk mkd", "Malay": "ms msa", "Maltese": "mt mlt", "Norwegian": "no nor", "Persian": "fa fas",
    "Polish": "pl pol", "Portuguese": "pt por", "Romanian": "ro ron", "Russian": "ru rus", "Serbian": "sr srp",
    "Slovak": "sk slk", "Slovenian": "sl slv", "Spanish": "es spa", "Swahili": "sw swa", "Swedish": "sv swe",
    "Tamil": "ta tam", "Thai": "th tha", "Turkish": "tr tur", "Ukrainian": "uk ukr", "Urdu": "ur urd",
    "Vietnamese": "vi vie", "Welsh": "cy cym"}
NAMES = {code: name for name, codes in CODES.items() for code in codes.split()}
CODE = re.compile(r"([a-z]{2,3})_[A-Z][A-Za-z]{1,3}|__([a-z]{2,3})__")  # NLLB's eng_Latn, mBART's en_XX, M2M100's
USUAL = ("English", "French")


def chosen_languages(codes: Mapping[str, int], settings: Mapping[str, object], *, asked: tuple[str, str] | None = None,
                     written: object = None) -> tuple[str, str]:
    """The tokens of the source and the target language, for a model of many: those asked for, else those that
    tokenizer_config.json names, or the token that the model must write first; else English and French.

    codes: each language's token -> its id. Raises Refused for a language that is not one of them.
    """
    usual = [next((code for code in codes if language(code) == name), next(iter(codes))) for name in USUAL]
    source, target = asked or (None, None)
    source = source or settings.get("src_lang") or usual[0]
    source = _code(source, codes) or (usual[0] if asked is None else None)
    forced = next((code for code, id in codes.items() if id == written), None)
    other = usual[1] if source != usual[1] else usual[0]
    target = _code(target or settings.get("tgt_lang"), codes) or ((forced or other) if asked is None else None)
    if source is None or target is None:
        some = ", ".join(code.strip("_") for code in list(codes)[:8])
        raise Refused(f"{' to '.join(asked or ())[:60]} is not of the languages of this model, which has {some}"
                      f"{f' and {len(codes) - 8} more' if len(codes) > 8 else ''}")
    return source, target


def two_codes(text: str) -> tuple[str, str]:
    """The codes of the source and the target language, as they are typed. Raises Refused if they are not two."""
    codes = [code.strip() for code in text.split(",")]
    if len(codes) != 2 or not all(codes):
        raise Refused(f"the languages are {text[:60]!r}; give two codes with a comma between them, the language to "
                      "read and the one to write: eng_Latn,fra_Latn for NLLB, en,fr for M2M100, en_XX,fr_XX for mBART")
    return codes[0], codes[1]


def _code(named: object, codes: Mapping[str, int]) -> str | None:
    """The token of a language by its code, such as __en__ for en in M2M100."""
    return next((code for code in (named, f"__{named}__") if isinstance(code, str) and code in codes), None)


def language(code: str) -> str | None:
    """The language of a token such as eng_Latn, en_XX or __en__, in English."""
    match = CODE.fullmatch(code)
    return NAMES.get(match[1] or match[2]) if match else None


def languages_of(tokenizer_config: Mapping[str, object], *called: str) -> list[str] | None:
    """The source and the target language, in English: from source_lang and target_lang of tokenizer_config.json, or
    src_lang and tgt_lang as in mBART, NLLB and M2M100, else from the first name such as opus-mt-en-fr. None if neither
    says, or a code stands for several."""
    named = [(tokenizer_config.get("source_lang"), tokenizer_config.get("target_lang")),
             (tokenizer_config.get("src_lang"), tokenizer_config.get("tgt_lang"))]
    named += [match.groups() for one in called
              if (match := re.search(r"opus-mt(?:-tc)?(?:-big)?-([a-z]+)-([a-z]+)$", one))]
    for pair in named:
        names = [name for code in pair if isinstance(code, str) and (name := NAMES.get(code) or language(code))]
        if len(names) == len(pair):
            return names
    return None
