"""python -m docboltz: the command, by the interpreter that has the package."""

from docboltz.cli.app import main

main()
