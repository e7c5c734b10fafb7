"""Models of other families are laid out and drawn as what they are, by the configurations that imports give them."""

import pytest
import torch

from tests.diagram.drawn import read
from tests.huggingface.cases import its_family, rows
from tests.huggingface.random_models import random_model
from transformer.diagram.blocks import model_blocks
from transformer.diagram.drawing import architecture
from transformer.huggingface.folder import Folder
from transformer.huggingface.importing import plan_of
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig


@pytest.fixture(scope="module")
def config_of(tmp_path_factory):
    def config_of(case) -> ModelConfig:
        folder = tmp_path_factory.mktemp("theirs")
        random_model(*case[1:]).save_pretrained(folder)
        theirs = Folder(folder)
        return plan_of(theirs.config, theirs.tensors).config

    return config_of


@pytest.mark.slow
@pytest.mark.parametrize("case", rows(its_family))
def test_a_family_is_drawn_with_every_parameter_and_no_text_on_another(config_of, case):
    config = config_of(case)
    with torch.device("meta"):
        total = sum(parameter.numel() for parameter in Transformer(config).parameters())
    once = {block.id.replace(f".{number}.", ".") if config.shared_layers else block.id: block.parameters
            for block in model_blocks(config).walk() if not block.blocks
            for number in [block.id.split(".")[1]]}
    assert sum(once.values()) == total
    for apart in (1, 8):
        assert read(architecture(config, apart=apart)).faults() == []
