"""`farwatch plan`: what other methods, options, precisions and windows of a monitor would have sent and promised."""
