"""The options of the world."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ShoppingOptions(BaseModel):
    """How the shop is set up; recorded beside every figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    results_per_page: Literal[3, 10] = Field(default=10, description="How many products a page of results shows.")
    items: str = Field(default="", description="A file of products in WebShop's format, instead of our own catalogue.")
    attributes: str = Field(default="", description="Beside items: what its products are said to be.")
    goals: str = Field(default="", description="Beside items: what people wanted of its products.")

    @model_validator(mode="after")
    def _need_items(self) -> "ShoppingOptions":
        if (self.attributes or self.goals) and not self.items:
            raise ValueError("attributes and goals belong to a file of products: name that too, items=FILE")
        return self

    @classmethod
    def read(cls, options: BaseModel | None) -> "ShoppingOptions":
        """The options as given from outside, or the default ones."""
        return cls.model_validate(options.model_dump() if options else {})
