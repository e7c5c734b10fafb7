"""`transformer.train` from a notebook: a run like any other, that can be read, opened and gone on with."""

import pytest

import transformer
from transformer.jobs.launch import progress


def test_a_run_is_trained_gone_on_with_and_opened(tmp_path):
    rows = []
    folder = transformer.train(tmp_path / "mine", "sentiment", steps=20, d_model=16, device="cpu", watch=rows.append)
    assert folder == tmp_path / "mine" and progress(folder).state == "finished"
    assert transformer.runs.metrics(folder).step.tolist() == [*range(1, 10), 10, 20]
    assert rows and transformer.load(folder / "best").config.d_model == 16
    with pytest.raises(ValueError, match="mine holds a run already; resume it, or choose another folder"):
        transformer.train(folder, "sentiment", device="cpu")
    transformer.train(str(folder), resume=True, steps=30, device="cpu")
    assert transformer.runs.metrics(folder).step.tolist() == [*range(1, 10), 10, 20, 30]


def test_what_cannot_be_trained_leaves_no_folder(tmp_path):
    for preset, settings, why in (
            ("sentimental", {}, "there is no preset 'sentimental'; there are paper-base, annotated"),
            ("sentiment", {"stepz": 3}, "unknown setting stepz; known are .*d_model.*lr"),
            ("sentiment", {"resume": True}, "holds no run to resume"),
            ("sentiment", {"device": "abacus"}, "device 'abacus' is not available here")):
        with pytest.raises(ValueError, match=why):
            transformer.train(tmp_path / "mine", preset, **settings)
    assert not (tmp_path / "mine").exists()
