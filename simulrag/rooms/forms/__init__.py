"""Questions of three forms (choice, freeform, cloze) at three levels: made, answered, measured."""
