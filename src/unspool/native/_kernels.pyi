def instruction_sets() -> list[str]: ...
def use(name: str) -> None: ...
def run(
    kind: str,
    backward: bool,
    hidden: int,
    take: bool,
    offsets: int,
    steps: int,
    reverse: list[bool],
    addresses: list[list[int]],
    threads: int,
) -> None: ...
