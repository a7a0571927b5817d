import torch

from docboltz.scratch import Scratch


def test_a_name_has_the_same_memory_until_another_shape_or_type_is_asked_for():
    scratch, here = Scratch(), torch.zeros(())
    first = scratch("logits", (2, 3), here, torch.float32)
    assert first.shape == (2, 3)
    assert scratch("logits", (2, 3), here, torch.float32) is first
    assert scratch("ladder", (2, 3), here, torch.float32) is not first
    assert scratch("logits", (3, 2), here, torch.float32).shape == (3, 2)
    assert scratch("logits", (3, 2), here, torch.float64).dtype == torch.float64


def test_memory_for_numbers_grows_as_it_must():
    scratch = Scratch()
    first = scratch.numbers("places", 100, torch.float32)
    assert first.shape == (100,)
    for size in (7, 100, 120):
        assert scratch.numbers("places", size, torch.float32).shape == (size,)
        assert scratch.numbers("places", size, torch.float32).data_ptr() == first.data_ptr()
    assert scratch.numbers("places", 200, torch.float32).shape == (200,)
    assert scratch.numbers("places", 5, torch.float64).dtype == torch.float64
