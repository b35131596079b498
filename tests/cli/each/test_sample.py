"""Every kind of pytest case, for test_each.sh."""
import pytest


def test_one():
    pass


@pytest.mark.parametrize("size", [1, "a/b::c d"])
def test_size(size):
    assert size != 1


class TestGroup:
    def test_in(self):
        pass

    @pytest.mark.skip
    def test_skipped(self):
        assert False
