"""Outputs of the Mersenne Twister with its seeding of 1999, by Python's own generator, whose state is set from outside."""
import random


def outputs(seed, skipped, count):
    state = []
    for _ in range(624):
        word = seed & 0xFFFF0000
        seed = (69069 * seed + 1) & 0xFFFFFFFF
        word |= seed >> 16
        seed = (69069 * seed + 1) & 0xFFFFFFFF
        state.append(word)
    generator = random.Random()
    generator.setstate((3, tuple(state) + (624,), None))
    for _ in range(skipped):
        generator.getrandbits(32)
    return [generator.getrandbits(32) for _ in range(count)]


for seed, skipped in ((42, 0), (4357, 0), (1, 0), (2147483647, 623), (42, 20000)):
    print(seed, skipped, outputs(seed, skipped, 4))
