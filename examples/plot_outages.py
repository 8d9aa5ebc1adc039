"""How to forecast while a sensor is out?
======================================

The demand for power of a town is forecast an hour ahead from its own past, from a
neighbouring town, and from the temperature. Sensors fail, and stay out for hours: their
readings are then missing from all later rows that look back at them. What should a
forecaster do until the sensor is back?
"""

# %%
# Three sensors are read every hour for 80 days. All of them depend on the time of day
# and on the weather, which changes slowly. The two towns also share smaller
# fluctuations.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from noiseproof import AverageOverMissing
from noiseproof.noise import Outages

rng = np.random.default_rng(0)
hours = np.arange(80 * 24)
day = np.column_stack([np.sin(hours * np.pi / 12), np.cos(hours * np.pi / 12)])


def drift(memory, size):
    """Random fluctuations that fade slowly."""
    noise = size * rng.standard_normal(len(hours))
    for hour in hours[1:]:
        noise[hour] += memory * noise[hour - 1]
    return noise


weather, common = drift(0.99, 0.3), drift(0.9, 0.5)
readings = np.column_stack(
    [
        50 + 8 * day[:, 0] - 2 * weather + 2 * common + drift(0.8, 0.3),
        30 + 5 * day[:, 0] - 1 * weather + 1 * common + drift(0.8, 0.3),
        10 + 4 * day[:, 1] + 2 * weather + drift(0.5, 0.2),
    ]
)

# %%
# There is a row for each hour. It contains the time of day, which is always known, and
# earlier readings of each sensor. The first 60 days are for training.

lags = [1, 2, 3, 6, 12, 24]


def lagged(readings):
    past = [np.roll(readings, lag, axis=0) for lag in lags]
    return np.hstack([day, *past])[24:]


X, y, split = lagged(readings), readings[24:, 0], 60 * 24
model = RidgeCV(np.logspace(-2, 3, 6)).fit(X[:split], y[:split])
averaged = AverageOverMissing(model, random_state=0).fit(X[:split], y[:split])

# %%
# Each sensor is out in a fifth of all hours. An outage lasts half a day on average.

broken = Outages(0.2, length=12).sample(readings, rng)
out = np.isnan(broken)
latest = np.maximum.accumulate(np.where(out, 0, hours[:, None]))  # last reading

X_broken = lagged(broken)[split:]
X_last = lagged(np.take_along_axis(readings, latest, axis=0))[split:]
X_mean = np.where(np.isnan(X_broken), X[:split].mean(axis=0), X_broken)
forecasts = {
    "nothing missing": model.predict(X[split:]),
    "mean imputation": model.predict(X_mean),
    "last reading": model.predict(X_last),
    "averaged": averaged.predict(X_broken),
}

# %%
# Outages increase the error. The share of this increase that a method recovers is 1 if
# its error is that of the model with nothing missing, and 0 if it is that of the model
# after mean imputation.

error = {name: np.abs(f - y[split:]).mean() for name, f in forecasts.items()}
complete, imputed = error["nothing missing"], error["mean imputation"]
for name, value in error.items():
    share = (imputed - value) / (imputed - complete)
    print(f"{name:26} mean absolute error {value:.2f}, recovered {share:5.2f}")

# %%
# The plot shows three days in which the town's own sensor was out for a while (grey).
# Mean imputation pulls the forecast towards the average demand. The last reading does
# not follow the changes of the day. The averaged forecast follows the neighbouring town
# and the hour.

gone = out[24:, 0][split:]
start = max(int(np.convolve(gone, np.ones(24), "valid").argmax()) - 24, 0)
shown = np.arange(start, start + 72)
figure, ax = plt.subplots(figsize=(9, 4))
ax.plot(shown, y[split:][shown], color="black", label="true demand")
for name in list(forecasts)[1:]:
    ax.plot(shown, forecasts[name][shown], label=name)
ax.fill_between(
    shown,
    0,
    1,
    gone[shown],
    color="0.9",
    transform=ax.get_xaxis_transform(),
    step="mid",
)
ax.set(xlabel="hour", ylabel="demand")
ax.legend()
plt.show()
