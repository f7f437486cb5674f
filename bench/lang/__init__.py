"""The scope language: AST, five notations as data, lexicons, renderer, strict parser and two independent oracles."""
