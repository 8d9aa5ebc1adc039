"""Which test should be made next?
===============================

Few measurements of a sample are known, and each further one costs money and time. Which
one says most about the class? The answer differs from sample to sample.
"""

# %%
# A forest is trained on wines with all 13 measurements. For new wines, 90 % of the
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
# The table shows for each wine which missing measurement is worth most, and how far the
# log-loss is expected to fall if it is made. If the class is clear, no measurement is
# worth much.

values = pd.DataFrame(value_of_cells(model, wines), columns=X.columns)
first = pd.DataFrame({"measure next": values.idxmax(axis=1)})
first["worth"] = values.max(axis=1)
first["probability"] = model.predict_proba(wines).max(axis=1)
print(first.head(8).round(3).to_string())

# %%
# Now measurements are made one after another, in three orders: by their worth, which is
# estimated again after each step; by the importance of the columns; and at random.

curve = acquisition_curve(model, wines, X_new, y_new)
AcquisitionDisplay(curve).plot()
plt.show()
print({order: float(np.round(area, 3)) for order, area in curve.areas.items()})
