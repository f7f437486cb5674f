"""syntax-locality-icl: do redundant block terminators help a language model read and write nested scopes?"""
