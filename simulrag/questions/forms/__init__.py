"""Questions of three forms (choice, freeform, cloze) at three levels, from documents and runs."""
