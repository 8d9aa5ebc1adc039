"""Which test should be made next?
===============================

Few measurements of a sample are known, and each one more costs money and time. Which
one says most about the class? The answer differs from sample to sample.
"""

# %%
# A forest learns from wines with all 13 measurements. Of new wines nine tenths of the
# measurements are missing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from noiseproof import AverageOverMissing
from noiseproof.evaluation import AcquisitionDisplay, acquisition_curve, value_of_cells
from noiseproof.noise import Missing

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
forest = RandomForestClassifier(random_state=0)
model = AverageOverMissing(forest, random_state=0).fit(X_train, y_train)
wines = Missing(0.9).sample(X_new, rng=0)

# %%
# For each wine the missing measurement that is worth most: how far the log-loss is
# expected to fall if it is made. Where the class is clear nothing is worth much.

values = pd.DataFrame(value_of_cells(model, wines), columns=X.columns)
first = pd.DataFrame({"measure next": values.idxmax(axis=1)})
first["worth"] = values.max(axis=1)
first["probability"] = model.predict_proba(wines).max(axis=1)
print(first.head(8).round(3).to_string())

# %%
# Played through: measurements are made in the order of their worth, which is found
# anew after each of them; in the order of the importance of the columns; and at random.

curve = acquisition_curve(model, wines, X_new, y_new)
AcquisitionDisplay(curve).plot()
plt.show()
print({order: float(np.round(area, 3)) for order, area in curve.areas.items()})
