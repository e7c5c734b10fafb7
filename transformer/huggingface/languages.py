"""The languages of a model that translates, by the codes that its folder names: ISO 639-1 and 639-3."""

import re
from collections.abc import Mapping

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


def languages_of(tokenizer_config: Mapping[str, object], *called: str) -> list[str] | None:
    """What is read and what is written, in English: by source_lang and target_lang of tokenizer_config.json, else by
    the first name such as opus-mt-en-fr that it is called; None where neither says, or a code is of several."""
    named = [(tokenizer_config.get("source_lang"), tokenizer_config.get("target_lang"))]
    named += [match.groups() for one in called
              if (match := re.search(r"opus-mt(?:-tc)?(?:-big)?-([a-z]+)-([a-z]+)$", one))]
    for pair in named:
        found = [NAMES.get(code) if isinstance(code, str) else None for code in pair]
        if all(found):
            return found
    return None
