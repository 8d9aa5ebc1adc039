"""Columns of a table as features: numbers scaled, text one-hot encoded."""

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
    """Features from the columns of a table, by name.

    Numbers are scaled; text becomes one feature per value seen in training. An empty
    cell stays missing (NaN) if it is a number, and is all zeros if it is text, as is a
    text never seen in training: both add nothing to the score of our models. After
    standardisation zero is the average, so missing means average.

    New tables may have their columns in another order. A column that is not there is
    missing in every row, and so is a text where training had a number, both with a
    warning; columns that training did not have are ignored.

    Parameters
    ----------
    scale : {"auto", "standard", "maxabs", "none"}, default="auto"
        How to scale numbers: to mean 0 and variance 1, to a largest absolute value of
        1, or not. "auto" is "standard", but "maxabs" for sparse matrices, which then
        stay sparse. Where zero means "absent", as in counts of words, use "maxabs".
    coerce : list of str, default=()
        Columns that are numbers but for some cells: `1,5` and `$1,234` are read, what
        is left, such as `<0.5` or `n/a`, is missing, and so is a number such as -999
        that stands apart from the others.
    categorical : list of str, default=()
        Columns whose numbers are codes: each value becomes a feature, as of text.
    sparse_output : bool, default=True
        Whether the features of a data frame may be a sparse matrix, as they then are if
        most of them are zero. Pass False for models that refuse sparse rows, such as
        `HistGradientBoostingClassifier`.

    Attributes
    ----------
    feature_names_in_ : array of shape (n_columns,)
        Names of the columns, if the training table had names.
    text_columns_, empty_columns_ : list of str
        Those that hold text, and those that held nothing in training.
    n_features_in_ : int
        Number of columns.
    missing_rates_ : list of (str, float)
        Share of the cells of each column that were missing in training.
    coerced_ : list of (str, bool, float or None)
        Of `coerce`: the column, whether its commas stand before fractions, and the
        number that means missing.

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

    lets_holes_pass: ClassVar[bool] = True  # NaN in, NaN or zeros out, and only there
    sparse_output: bool = True  # also of encoders saved before there was a choice

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
        """Learn scales and the values of text columns.

        {(raw X, ignored y) -> self}
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn and encode in one pass.

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
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            X = read(self, X)
            self.encoder_ = self._scaler(sparse=density(X) is not None)
        return self.encoder_.fit_transform(X)

    def _learn_to_coerce(self, X: Any) -> Any:
        """The table with its coerced columns as numbers; how is kept for later."""
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
        """Features of new rows.

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
        """An array as a table with the columns of training, by position."""
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
        """The columns of training in their order, empty where they are missing."""
        used = [
            name for name in self.feature_names_in_ if name not in self.empty_columns_
        ]
        missing = [name for name in used if name not in X.columns]
        if len(missing) == len(used):
            raise ValueError(
                f"No column of the training table is there: it had {_columns(used)}."
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
        """The values of each text column that training had."""
        check_is_fitted(self)
        if not self.text_columns_:
            return {}
        one_hot = self.encoder_.named_transformers_["text"]
        return dict(
            zip(self.text_columns_, map(list, one_hot.categories_), strict=True)
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: of the column, and of the value for text.

        Where that name is taken, as by a number column `col_a` beside a text column
        `col` with the value `a`, a number in brackets follows.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn; the names of training are used.

        Returns
        -------
        names : array of str
            One per feature.
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
                while name in names:  # of a number column, or of another text column
                    name, n = f"{column}_{value} ({n})", n + 1
                names[name] = None
        return np.array(list(names), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _as_pandas(X: Any) -> Any:
    """A frame of pandas, whose columns are named by text."""
    return (X if hasattr(X, "iloc") else X.to_pandas()).rename(columns=str)


def _texts(column: Any) -> list[str]:
    """The values of a text column, which should be fewer than its rows."""
    values = sorted(set(column.dropna()))
    warn_of_many_words(column.name, len(values), len(column))
    return values


def _numbers(column: Any) -> Any:
    """Numbers where training had them; other cells are missing, with a warning."""
    numbers = as_numbers(column, kindly=False)
    text = column[numbers.isna() & column.notna()]
    if len(text):
        warnings.warn(
            f"Column {column.name!r} held numbers in training: a cell such as "
            f"{str(text.iloc[0])!r} counts as missing ({len(text)} in all).",
            stacklevel=4,
        )
    return numbers


def _columns(names: Any) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"column{'s' * (len(names) > 1)} {shown}{more}"
