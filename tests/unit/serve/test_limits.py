"""Who may ask, and how often."""

import pytest

from trellex.serve import limits
from trellex.serve.limits import ApiKeys, Rate, address_of


class TestApiKeys:
    def test_are_read_from_a_file(self, tmp_path):
        path = tmp_path / "keys"
        path.write_text("# for the team\n\n  red-key \nblue-key\n")
        keys = ApiKeys.load(path)
        assert keys.owner("red-key") != keys.owner("blue-key")
        assert None not in (keys.owner("red-key"), keys.owner("blue-key"))
        assert [keys.owner(wrong) for wrong in ("", "red", "red-key ", "# for the team", "\ud800")] == [None] * 5

    def test_are_not_kept(self):
        assert "secret" not in repr(vars(ApiKeys(["secret"])))
        assert "secret" not in str(ApiKeys(["secret"]).owner("secret"))

    def test_an_empty_file_is_refused(self, tmp_path):
        (tmp_path / "keys").write_text("# none\n")
        with pytest.raises(ValueError, match="keys: holds no keys; write one a line"):
            ApiKeys.load(tmp_path / "keys")

    def test_a_long_line_is_refused_without_quoting_it(self, tmp_path):
        (tmp_path / "keys").write_text("a\n" + "b" * 2000)
        with pytest.raises(ValueError, match="keys line 2: a key has at most 1,000 characters") as error:
            ApiKeys.load(tmp_path / "keys")
        assert "bb" not in str(error.value)


class TestRate:
    def test_comes_back_with_time(self):
        now = [0.0]
        rate = Rate(6, lambda: now[0])
        assert [rate.wait("a") for _ in range(7)] == [0] * 6 + [10]
        assert rate.wait("b") == 0
        now[0] = 4.0
        assert rate.wait("a") == 6
        now[0] = 10.0
        assert [rate.wait("a"), rate.wait("a")] == [0, 10]

    def test_never_exceeds_a_minutes_worth(self):
        now = [0.0]
        rate = Rate(2, lambda: now[0])
        rate.wait("a")
        now[0] = 1e6
        assert [rate.wait("a") > 0 for _ in range(3)] == [False, False, True]

    def test_may_be_without_limit(self):
        rate = Rate(None)
        assert {rate.wait("a") for _ in range(1000)} == {0}

    def test_remembers_a_bounded_number_of_clients(self, monkeypatch):
        monkeypatch.setattr(limits, "MAX_CLIENTS", 10)
        rate = Rate(1, lambda: 0.0)
        for client in range(100):
            rate.wait(str(client))
            assert rate.wait("loud") == (60 if client else 0)  # who asks again and again is not forgotten
        assert len(rate._clients) == 10


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "testclient"),
        (None, "None"),
    ],
)
def test_addresses(host, expected):
    assert address_of(host) == expected
