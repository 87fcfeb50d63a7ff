"""Logarithm, exponential and the normal distribution that give the same bits on every machine.

C libraries, and NumPy's vector loops on different processors, differ in the last bit of log and exp, and a last bit
may move an arrival by a nanosecond. Everything here is made of +, -, *, /, frexp, ldexp and rounding, which IEEE 754
fixes to the last bit. Accuracy is a few units in the last place, far below what a plan can show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

_SQRT_HALF = 0.7071067811865476
_LN2 = 0.6931471805599453
_LN2_HIGH = 0.693147180369123816490  # the first 32 bits: a product with a small integer is exact
_LN2_LOW = 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634
_PER_SQRT_2PI = 0.3989422804014327

# ln((1+s)/(1-s)) = 2(s + s^3/3 + s^5/5 + ...), |s| <= 0.172: the eleventh term is below 1e-17.
_ATANH = tuple(2.0 / (2 * k + 1) for k in range(11))
_MAX_EXPONENT = 709.0


def log(x: Float64) -> Float64:
    """Natural logarithm of positive numbers."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _SQRT_HALF
    mantissa = np.where(small, mantissa + mantissa, mantissa)
    shift = exponent - small
    s = (mantissa - 1.0) / (mantissa + 1.0)
    series = polynomial(s * s, _ATANH)
    series *= s
    series += shift * _LN2_LOW
    series += shift * _LN2_HIGH
    return series


def exp(x: Float64) -> Float64:
    """Exponential; arguments beyond ±709 are cut there, so nothing overflows."""
    x = np.clip(x, -_MAX_EXPONENT, _MAX_EXPONENT)
    halvings = np.rint(x * _PER_LN2)
    rest = x - halvings * _LN2_HIGH
    rest -= halvings * _LN2_LOW
    return np.ldexp(polynomial(rest, _EXPONENTIAL), halvings.astype(np.int32))


def normal_quantile(u: Float64) -> Float64:
    """The value that a standard normal variable stays below with probability u, 0 < u < 1.

    Wichura's algorithm AS 241 (Applied Statistics 37, 1988), relative accuracy about 1e-16.
    """
    q = u - 0.5
    r = 0.180625 - q * q
    z = q * polynomial(r, _CENTRE_ABOVE)
    z /= polynomial(r, _CENTRE_BELOW)
    tails = np.flatnonzero(np.abs(q) > 0.425)
    if len(tails):
        z[tails] = _tail_quantile(u[tails], q[tails])
    return z


def _tail_quantile(u: Float64, q: Float64) -> Float64:
    r = np.sqrt(-log(np.minimum(u, 1.0 - u)))
    near, far = r - 1.6, r - 5.0
    z = polynomial(near, _NEAR_ABOVE) / polynomial(near, _NEAR_BELOW)
    beyond = far > 0.0
    if beyond.any():
        z = np.where(beyond, polynomial(far, _FAR_ABOVE) / polynomial(far, _FAR_BELOW), z)
    return np.where(q < 0.0, -z, z)


def normal_cdf(z: Float64) -> Float64:
    """Probability that a standard normal variable stays below z, absolute accuracy 1e-15; never 0 or 1.

    Marsaglia's series (Journal of Statistical Software 11(4), 2004): 1/2 + phi(z) (z + z^3/3 + z^5/(3*5) + ...).
    """
    z = np.clip(z, -8.3, 8.3)
    square = z * z
    term = z.copy()
    total = z.copy()
    odd = 1.0
    while np.abs(term).max(initial=0.0) > 1e-17:
        odd += 2.0
        term *= square
        term /= odd
        total += term
    total *= _PER_SQRT_2PI * exp(-0.5 * square)
    total += 0.5
    return np.clip(total, 2.0**-54, 1.0 - 2.0**-53)


def scalar_log(x: float) -> float:
    """Natural logarithm of one positive number."""
    return float(log(np.array([x]))[0])


def settled(x: float) -> float:
    """x in 12 significant digits: makes a value from the C library the same on every machine but by rare accident.

    For parameters only (a gamma function once a process), where no form in basic operations is at hand.
    """
    return float(f"{x:.12g}")


def polynomial(x: Float64, coefficients: Sequence[float]) -> Float64:
    """c0 + c1 x + c2 x^2 + ... by Horner's rule, each step rounded on its own (never fused)."""
    result = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result *= x
        result += coefficient
    return result


def _reciprocal_factorials(count: int) -> tuple[float, ...]:
    values = [1.0]
    for k in range(1, count):
        values.append(values[-1] / k)
    return tuple(values)


_EXPONENTIAL = _reciprocal_factorials(15)

# The coefficients of AS 241, PPND16: |q| <= 0.425, then sqrt(-ln tail) up to 5, then beyond.
_CENTRE_ABOVE = (
    3.3871328727963666080e0,
    1.3314166789178437745e2,
    1.9715909503065514427e3,
    1.3731693765509461125e4,
    4.5921953931549871457e4,
    6.7265770927008700853e4,
    3.3430575583588128105e4,
    2.5090809287301226727e3,
)
_CENTRE_BELOW = (
    1.0,
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
)
_NEAR_ABOVE = (
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
)
_NEAR_BELOW = (
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
_FAR_ABOVE = (
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
)
_FAR_BELOW = (
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)
