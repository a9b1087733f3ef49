"""From the field that is read to the input layer of its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from unspool.data.fields.history import HistoryField
from unspool.data.fields.image import ImageSource
from unspool.data.fields.image_shape import CNN
from unspool.data.fields.source import VectorSource
from unspool.data.fields.text import TokenField
from unspool.data.fields.vectors import VectorField
from unspool.data.fields.video import VideoSource
from unspool.nn.efficientnet import EncoderInput
from unspool.nn.frames import ClipAugment, FrameInput
from unspool.nn.images import Augmentation, ConvolutionalInput, ImageAugment, Patches
from unspool.nn.inputs import Augment, InputLayer, Masks, SpecAugment, TokenInput, VectorInput

DEFAULT_SIZE = 64  # of the vectors of a convolutional input layer where none is set


class InputOptions(NamedTuple):
    """Options of the layer that makes vectors of the steps of a field.

    size           of a vector; 0: one-hot vectors
    std, scale     of an embedding, see `TokenEmbedding`
    dropout        on the elements of the vectors
    word_dropout   share of the steps that are made unknown in training
    patch          steps that are read as one, of vectors over time
    masks          parts of them that are hidden in training
    channels       of vectors over time, where they are not those of the field; 0: the field's
    augmentation   how images are changed in training
    """

    size: int
    std: float
    scale: float
    dropout: float
    word_dropout: float
    patch: int = 1
    masks: Masks = Masks()
    channels: int = 0
    augmentation: Augmentation = Augmentation()


def token_input(field: TokenField, options: InputOptions) -> TokenInput:
    return TokenInput(
        field.vocabulary,
        options.size,
        std=options.std,
        scale=options.scale,
        dropout=options.dropout,
        word_dropout=options.word_dropout,
    )


def vector_input(field: VectorField | HistoryField, options: InputOptions) -> VectorInput:
    masks = options.masks
    return VectorInput(
        options.channels or options.patch * field.size,
        options.size,
        dropout=options.dropout,
        augment=SpecAugment(field.size, masks) if masks.any else None,
    )


def image_input(field: VectorField, options: InputOptions) -> InputLayer:
    source, shape = field.source, field.source.shape
    patches = Patches(shape.height, shape.colours, *shape.patches)
    augment: Augment | None = None
    if any(options.augmentation):
        augment = ImageAugment(patches, options.augmentation, together=options.patch)
    if shape.reading == "encoder":
        encoded = EncoderInput(
            shape.height,
            shape.width,
            options.size or DEFAULT_SIZE,
            dropout=options.dropout,
            augment=augment,
        )
        if source.encoder is not None:
            encoded.encoder.start_from(source.encoder)
        return encoded
    if shape.reading not in CNN:
        size = options.patch * shape.size
        return VectorInput(size, options.size, dropout=options.dropout, augment=augment)
    return ConvolutionalInput(
        shape.height,
        shape.width,
        shape.colours,
        options.size or DEFAULT_SIZE,
        halvings=shape.halvings,
        by_columns=shape.any_width,
        dropout=options.dropout,
        augment=augment,
    )


def frame_input(field: VectorField, options: InputOptions) -> FrameInput:
    shape, size = field.source.shape, options.size or DEFAULT_SIZE
    columns = Patches(shape.height, shape.colours, shape.height, 1)
    patches: Patches | None = None
    image: ConvolutionalInput | VectorInput
    if shape.reading == "patches":
        patches = Patches(shape.height, shape.colours, *shape.patches)
        image, grid = VectorInput(shape.size, size), shape.grid
    else:
        halvings = field.source.halvings
        image = ConvolutionalInput(
            shape.height, shape.width, shape.colours, size, halvings=halvings
        )
        grid = -(-shape.height >> halvings), -(-shape.width >> halvings)
    return FrameInput(
        image,
        grid,
        size,
        width=shape.width,
        height=shape.height,
        colours=shape.colours,
        patches=patches,
        dropout=options.dropout,
        augment=ClipAugment(columns, options.augmentation) if any(options.augmentation) else None,
    )


# By the class of a source of vectors, or of a field of tokens, or one that it derives from.
INPUT_LAYERS: dict[type, Callable[[Any, InputOptions], InputLayer]] = {
    ImageSource: image_input,
    VideoSource: frame_input,
    VectorSource: vector_input,
    TokenField: token_input,
}


def input_layer(field: Any, options: InputOptions) -> InputLayer:
    """Return the layer that reads a field."""
    classes = type(getattr(field, "source", field)).__mro__
    make = next(INPUT_LAYERS[kind] for kind in classes if kind in INPUT_LAYERS)
    return make(field, options)
