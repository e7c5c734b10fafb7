"""A question is spelled as transformers fills in a model's chat template; where none is offered, the reason is said."""

import json

import pytest

import transformer
from tests.rows import each_row
from transformer.huggingface.chat import QUESTION, turn
from transformer.huggingface.folder import Folder, Refused
from transformer.huggingface.importing import import_model
from transformer.huggingface.render_template import rendered

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
EACH = "{%% for m in messages %%}%s{%% endfor %%}"
TEMPLATES = [
    EACH % "{{ '<|user|>\n' + m['content'] + eos_token + '\n' }}" +
    "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{{ bos_token }}{{ messages[0].content }}{{ pad_token }}{{ unk_token }}",
    "{{ strftime_now('%Y') }} {{ messages[0]['content'] }}",
    EACH % "{% if m.role == 'assistant' %}{% break %}{% endif %}{{ m.content }}",
    EACH % "{% if m.role == 'system' %}{% continue %}{% endif %}{{ m.content }}",
    EACH % "{% generation %}{{ m.content | trim }}{% endgeneration %}",
    "{{ messages | tojson }}{{ {'b': '<é>', 'a': [1, 2]} | tojson(indent=2, sort_keys=true) }}",
    "{% set ns = namespace(seen=false) %}" + EACH % "{% set ns.seen = true %}{{ m.content }}" + "{{ ns.seen }}",
    "{{ dict(a=1).items() | list }}{{ dict.fromkeys(['x']) }}{{ messages[0].content }}",
    "{% if tools is not none %}tools{% elif documents is none %}none{% endif %} {{ messages[0].content }}",
    "{%- if not messages %}{{ raise_exception('nothing was asked') }}{%- endif %}\n  {{ messages[-1].content }}\n",
    "{% macro said(m) %}[{{ m.role }}] {{ m.content }}{% endmacro %}" + EACH % "{{ said(m) }}",
    "{{ messages[0]['content'].split(' ')[0] | upper }} {{ messages[0].content | replace('\n', ' ') }}"]


@each_row("template", TEMPLATES)
def test_a_question_is_spelled_as_transformers_spells_it(template):
    from transformers.utils.chat_template_utils import render_jinja_template

    theirs, _ = render_jinja_template([[{"role": "user", "content": QUESTION}]], chat_template=template,
                                      add_generation_prompt=True, **TOKENS)
    assert rendered(template, question=QUESTION, tokens=TOKENS) == theirs[0]


@each_row(("template", "why"), [
    ("{{ raise_exception('system messages come first') }}", "ends in an error .system messages come first"),
    ("Hello.", "leaves the question out"),
    ("{{ messages[0].content }}{{ 'x' * 5000 }}", "writes 5,030 characters"),
    ("{{ messages[0].content }}{{ 'x' * 10**9 }}", "ends in an error"),
    ("{{ messages[0].content }}{{ messages.__class__.__mro__ }}", "ends in an error"),
    ("{% set ns = namespace() %}{% set ns.__init__ = 1 %}{{ messages[0].content }}", "ends in an error")])
def test_what_gives_no_question_says_why(template, why):
    with pytest.raises(Refused, match=f"^its chat template .*{why}"):
        turn(template)


@pytest.mark.rare("a process for each; others of their kinds stand above")
@each_row(("template", "why"), [
    ("{% for %}", "ends in an error"), ("{{ messages[0].content.format.__globals__ }}", "leaves the question out")])
def test_other_templates_that_give_no_question_say_why(template, why):
    with pytest.raises(Refused, match=f"^its chat template .*{why}"):
        turn(template)


def chatting(folder, template, *, begins):
    """Saves a Llama that reads bytes and has this template; begins: its tokenizer puts <s> before every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    cut = Tokenizer(models.BPE())
    cut.pre_tokenizer, cut.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    cut.train_from_iterator([QUESTION], trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "</s>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if begins:
        cut.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", 0)])
    theirs = PreTrainedTokenizerFast(tokenizer_object=cut, bos_token="<s>", eos_token="</s>")
    theirs.chat_template = template
    LlamaForCausalLM(LlamaConfig(
        vocab_size=len(theirs), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=99, bos_token_id=0, eos_token_id=1)).save_pretrained(folder)
    theirs.save_pretrained(folder)
    return theirs


@each_row(("begins", "template"), [(begins, template) for begins in (False, True) for template in (
    TEMPLATES[0], "{{ bos_token }}[INST] {{ messages[0].content }} [/INST]")
    if not begins or template.startswith("{{ bos")])
def test_what_is_offered_has_the_ids_of_apply_chat_template(tmp_path, begins, template):
    assert_ids_of_apply_chat_template(tmp_path / f"{begins}{len(template)}", template, begins=begins)


@pytest.mark.rare("a model and a tokenizer; others of their kind stand above")
def test_a_question_with_its_begin_token_at_the_end_has_the_same_ids(tmp_path):
    assert_ids_of_apply_chat_template(tmp_path, "{{ messages[0].content }}{{ bos_token }}", begins=False)


def assert_ids_of_apply_chat_template(place, template, *, begins):
    theirs = chatting(place / "theirs", template, begins=begins)
    wanted = theirs.apply_chat_template([{"role": "user", "content": QUESTION}], add_generation_prompt=True,
                                        return_dict=False)
    ckpt = transformer.load(import_model(place / "theirs", place / "ours"))
    assert ckpt.tokenizer.encode(ckpt.description.meta["chat"]) == wanted


def test_the_reason_for_no_question_is_on_the_card(tmp_path):
    chatting(tmp_path / "theirs", "{{ raise_exception('ask a system') }}", begins=False)
    ckpt = transformer.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    assert "chat" not in ckpt.description.meta
    assert "Without a question to begin with: its chat template ends in an error (ask a system)." in (
        tmp_path / "ours" / "README.md").read_text()


def test_special_tokens_are_found_wherever_a_folder_names_them(tmp_path):
    for name, said in {"special_tokens_map.json": {"bos_token": "<a>", "eos_token": {"content": "<b>"}},
                       "tokenizer_config.json": {"bos_token": "<s>", "pad_token": None, "add_bos_token": True,
                                                 "extra_special_tokens": {"image_token": "<i>"}}}.items():
        (tmp_path / name).write_text(json.dumps(said))
    assert Folder(tmp_path).special_tokens == {"bos_token": "<s>", "eos_token": "<b>", "image_token": "<i>"}
