"""Operations that programs register: their schemas, what carries them out, their gradients. Programs see `torchcompat.library`."""
