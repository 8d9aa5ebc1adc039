"""Encode the columns of a table: scale numbers, one-hot encode text."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._private import StrOptions, _check_feature_names_in, check_parameters
from noiseproof._rows import density, read
from noiseproof.conditionals import warn_of_many_words
from noiseproof.tables.cells import (
    as_numbers,
    as_text,
    has_decimal_commas,
    is_number,
    sentinel,
)


@shared_docs
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as features.

    Numbers are scaled. Text is one-hot encoded, with one feature per value that was
    seen in training. A missing number stays missing (NaN). A missing text, and a text
    that was not seen in training, becomes zeros. The linear models of this library add
    nothing to the score for either. As a standardised column has mean zero, they treat
    a missing number as an average one.

    Columns are found by name, so new tables may have them in another order. If a column
    is absent, its values are missing in every row. Text in a column that was numeric in
    training is missing, too. Both cause a warning. Additional columns are ignored.

    Parameters
    ----------
    scale : {"auto", "standard", "maxabs", "none"}, default="auto"
        How to scale numbers: to mean 0 and variance 1, to a largest absolute value of
        1, or not at all. "auto" means "standard", but "maxabs" for sparse matrices,
        which stay sparse. Use "maxabs" where zero means "absent", as in word counts.
    coerce : list of str, default=()
        Columns of numbers in which some values are written in another way. `1,5` and
        `$1,234` are read as numbers. Values such as `<0.5` or `n/a` become missing, and
        so does a number such as -999 that is far from all others.
    categorical : list of str, default=()
        Columns whose numbers are codes. They are one-hot encoded as text is.
    sparse_output : bool, default=True
        Whether to return a sparse matrix if most features of a data frame are zero.
        Pass False for models that do not accept sparse rows, such as
        `HistGradientBoostingClassifier`.

    Attributes
    ----------
    feature_names_in_ : array of shape (n_columns,)
        Names of the columns, if the training table had names.
    text_columns_, empty_columns_ : list of str
        Columns of text, and columns that were empty in training.
    n_features_in_ : int
        Number of columns.
    missing_rates_ : list of (str, float)
        Share of missing values in each column in training.
    coerced_ : list of (str, bool, float or None)
        For each column of `coerce`: its name, whether it has decimal commas, and the
        number that stands for missing values.

    {See Also: read_table, recommend}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof.tables import TableEncoder
    >>> table = pd.DataFrame({"height": [1.0, 3.0, None], "colour": ["red", "", None]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['height', 'colour_', 'colour_red'], dtype=object)
    >>> encoder.transform(table)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.],
           [nan,  0.,  0.]])
    """

    lets_holes_pass: ClassVar[bool] = (
        True  # a NaN changes the features of its column only
    )
    sparse_output: bool = True  # for encoders that were saved without this parameter

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [StrOptions({"auto", "standard", "maxabs", "none"})],
        "coerce": ["array-like", tuple],
        "categorical": ["array-like", tuple],
        "sparse_output": ["boolean"],
    }

    def __init__(
        self,
        scale: str = "auto",
        *,
        coerce: Any = (),
        categorical: Any = (),
        sparse_output: bool = True,
    ):
        self.scale = scale
        self.coerce = coerce
        self.categorical = categorical
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn the scales of numeric columns and the values of text columns.

        {(raw X, ignored y) -> self}
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the encoder and encode X in one pass.

        {(raw X, ignored y) -> features}
        """
        check_parameters(self)
        self.text_columns_: list[str] = []
        self.empty_columns_: list[str] = []
        self.coerced_: list[Any] = []
        self.missing_rates_: list[Any] = []
        if hasattr(X, "columns"):
            X = _as_pandas(X)
            self.n_features_in_ = X.shape[1]
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
            X = self._learn_to_coerce(X)
            self.missing_rates_ = [
                (name, float(column.isna().mean())) for name, column in X.items()
            ]
            self.encoder_ = self._by_columns(X)
            X = X.assign(**{name: as_text(X[name]) for name in self.text_columns_})
        else:
            self.__dict__.pop("feature_names_in_", None)  # from an earlier fit
            X = read(self, X)
            self.encoder_ = self._scaler(sparse=density(X) is not None)
        return self.encoder_.fit_transform(X)

    def _learn_to_coerce(self, X: Any) -> Any:
        """The table with its coerced columns as numbers; stores how to read them."""
        for name in [*self.coerce, *self.categorical]:
            if name not in X.columns:
                raise ValueError(f"The table has no column {name!r}.")
        for name in self.coerce:
            decimal = not is_number(X[name]) and has_decimal_commas(X[name])
            numbers = as_numbers(X[name], decimal=decimal)
            self.coerced_.append((name, decimal, sentinel(numbers)))
        return self._coerced(X)

    def _coerced(self, X: Any) -> Any:
        found = {}
        for name, decimal, strange in self.coerced_:
            if name in X.columns:
                numbers = as_numbers(X[name], decimal=decimal)
                found[name] = numbers.mask(numbers == strange)
        return X.assign(**found) if found else X

    def _scaler(self, sparse: bool) -> Any:
        scale = self.scale
        if scale == "auto":
            scale = "maxabs" if sparse else "standard"
        if scale == "standard":
            return StandardScaler(with_mean=not sparse)
        if scale == "maxabs":
            return MaxAbsScaler()
        return FunctionTransformer(accept_sparse=True, feature_names_out="one-to-one")

    def _by_columns(self, X: Any) -> ColumnTransformer:
        empty = [name for name, column in X.items() if column.isna().all()]
        if empty:
            warnings.warn(f"Empty and left out: {_columns(empty)}.", stacklevel=3)
        self.empty_columns_ = empty
        used = X.drop(columns=empty)
        numbers = [
            name
            for name, column in used.items()
            if is_number(column) and name not in self.categorical
        ]
        self.text_columns_ = [name for name in used.columns if name not in numbers]
        values = [_texts(as_text(used[name])) for name in self.text_columns_]
        one_hot = OneHotEncoder(categories=values, handle_unknown="ignore")
        return ColumnTransformer(
            [
                ("numbers", self._scaler(sparse=False), numbers),
                ("text", one_hot, self.text_columns_),
            ],
            sparse_threshold=0.3 if self.sparse_output else 0.0,
            verbose_feature_names_out=False,
        )

    def transform(self, X: Any) -> Any:
        """Encode new rows.

        {(raw X) -> features}
        """
        check_is_fitted(self)
        if hasattr(X, "columns"):
            X = _as_pandas(X)
        if hasattr(self, "feature_names_in_"):
            X = self._matched(X if hasattr(X, "columns") else self._framed(X))
        else:
            X = read(self, getattr(X, "values", X), reset=False)
        return self.encoder_.transform(X)

    def _framed(self, X: Any) -> Any:
        """An array as a table with the training columns, by position."""
        import pandas as pd

        sparse = density(X) is not None
        X = X if sparse else np.asarray(X)
        if sparse or X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"TableEncoder was fitted on a table of {self.n_features_in_} named "
                f"columns, but got {'a sparse' if sparse else 'an'} array of shape "
                f"{X.shape} without names."
            )
        return pd.DataFrame(X, columns=self.feature_names_in_)

    def _matched(self, X: Any) -> Any:
        """The training columns in their order; absent ones are empty."""
        used = [
            name for name in self.feature_names_in_ if name not in self.empty_columns_
        ]
        missing = [name for name in used if name not in X.columns]
        if len(missing) == len(used):
            raise ValueError(
                "This table has none of the columns of the training table, which are: "
                f"{_columns(used)}."
            )
        if missing:
            warnings.warn(
                f"Missing, and treated as deleted in every row: {_columns(missing)}.",
                stacklevel=3,
            )
        X = self._coerced(X).reindex(columns=used)
        for name, column in X.items():
            if name in self.text_columns_:
                X[name] = as_text(column)
            elif not is_number(column):
                X[name] = _numbers(column)
        return X

    def known_texts(self) -> dict[str, list[str]]:
        """The values of each text column that were seen in training."""
        check_is_fitted(self)
        if not self.text_columns_:
            return {}
        one_hot = self.encoder_.named_transformers_["text"]
        return dict(
            zip(self.text_columns_, map(list, one_hot.categories_), strict=True)
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features.

        A numeric feature has the name of its column. A feature of a text column is
        named by column and value, as in `colour_red`. If that name is taken, a number
        in brackets follows.

        Parameters
        ----------
        input_features : ignored
            For compatibility with scikit-learn; the names of training are used.

        Returns
        -------
        names : array of str
            One name per feature.
        """
        check_is_fitted(self)
        if not hasattr(self, "feature_names_in_"):
            return _check_feature_names_in(self, input_features)
        (_, _, numbers), (_, one_hot, texts) = self.encoder_.transformers_[:2]
        names = dict.fromkeys(numbers)
        known = one_hot.categories_ if texts else []
        for column, values in zip(texts, known, strict=True):
            for value in values:
                name, n = f"{column}_{value}", 2
                while name in names:  # taken by another column
                    name, n = f"{column}_{value} ({n})", n + 1
                names[name] = None
        return np.array(list(names), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _as_pandas(X: Any) -> Any:
    """A pandas data frame whose column names are strings."""
    return (X if hasattr(X, "iloc") else X.to_pandas()).rename(columns=str)


def _texts(column: Any) -> list[str]:
    """The distinct values of a text column; warns if they hardly repeat."""
    values = sorted(set(column.dropna()))
    warn_of_many_words(column.name, len(values), len(column))
    return values


def _numbers(column: Any) -> Any:
    """A column that was numeric in training; text becomes NaN, with a warning."""
    numbers = as_numbers(column, kindly=False)
    text = column[numbers.isna() & column.notna()]
    if len(text):
        warnings.warn(
            f"Column {column.name!r} was numeric in training: a value such as "
            f"{str(text.iloc[0])!r} counts as missing ({len(text)} in all).",
            stacklevel=4,
        )
    return numbers


def _columns(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"column{'s' * (len(names) > 1)} {shown}{more}"
