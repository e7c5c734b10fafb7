"""A Rust panic becomes an ordinary error; Ctrl-C does not."""

import pytest

from transformer.text.rust_errors import refuse_panics


def test_a_panic_becomes_an_error_and_nothing_else_does():
    panic = type("PanicException", (BaseException,), {})("index out of bounds")
    with pytest.raises(RuntimeError, match="index out of bounds"), refuse_panics():
        raise panic
    for error in (KeyboardInterrupt(), SystemExit(3), ValueError("as it is")):
        with pytest.raises(type(error)), refuse_panics():
            raise error
