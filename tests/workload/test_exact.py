"""The functions agree with the mathematics, and are made of operations that IEEE 754 fixes."""

import math
import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caveat.workload.exact import exp, log, normal_cdf, normal_quantile, scalar_log, settled


def one(function, x: float) -> float:
    return float(function(np.array([x]))[0])


@given(st.floats(1e-300, 1e300))
def test_log_is_the_logarithm(x: float):
    """Within a few units in the last place of the C library's."""
    assert math.isclose(one(log, x), math.log(x), rel_tol=1e-14, abs_tol=1e-16)


@given(st.floats(-700, 700))
def test_exp_is_the_exponential(x: float):
    """Within a few units in the last place of the C library's."""
    assert math.isclose(one(exp, x), math.exp(x), rel_tol=1e-13)


def test_exp_never_overflows():
    """Arguments are cut where doubles end."""
    assert exp(np.array([-1e300, -800.0, 800.0, 1e300])).tolist() == [
        one(exp, -709.0),
        one(exp, -709.0),
        one(exp, 709.0),
        one(exp, 709.0),
    ]


@given(st.floats(2.0**-54, 1 - 2.0**-53))
def test_the_normal_quantile_is_the_standard_librarys(u: float):
    """AS 241 is what the standard library uses as well."""
    assert math.isclose(one(normal_quantile, u), statistics.NormalDist().inv_cdf(u), rel_tol=1e-12, abs_tol=1e-15)


@given(st.floats(-8, 8))
def test_the_normal_cdf_is_the_error_functions(z: float):
    """Absolute error below 1e-14 everywhere."""
    assert abs(one(normal_cdf, z) - 0.5 * math.erfc(-z / math.sqrt(2))) < 1e-14


def test_the_normal_cdf_never_reaches_its_ends():
    """Its values can go into a quantile function."""
    low, high = normal_cdf(np.array([-1e9, 1e9])).tolist()
    assert 0 < low < 1e-15
    assert 1 - 1e-15 < high < 1


def test_the_bits_of_some_values_are_known():
    """What every machine must give; a machine that does not would give other plans."""
    x = np.array([0.1, 0.7, 1.5, 123.456])
    assert [value.hex() for value in log(x).tolist()] == LOG_BITS
    assert [value.hex() for value in exp(x).tolist()] == EXP_BITS
    assert [value.hex() for value in normal_quantile(np.array([0.01, 0.3, 0.99999])).tolist()] == QUANTILE_BITS


def test_one_value_is_as_many():
    """The scalar form is the array form."""
    assert scalar_log(123.456).hex() == LOG_BITS[3]


def test_settled_hides_a_last_bit():
    """Two values that differ in the last bit become one."""
    assert settled(math.nextafter(math.pi, 4)) == settled(math.pi) == 3.14159265359


LOG_BITS = ["-0x1.26bb1bbb55515p+1", "-0x1.6d3c324e13f4fp-2", "0x1.9f323ecbf984cp-2", "0x1.343774f3e2362p+2"]
EXP_BITS = ["0x1.1aec7b35a00d4p+0", "0x1.01c2a61268987p+1", "0x1.1ed3fe64fc541p+2", "0x1.1428e1cbc0143p+178"]
QUANTILE_BITS = ["-0x1.29c5c4630ff0ep+1", "-0x1.0c7e39582c5fap-1", "0x1.10f3f8843a850p+2"]
