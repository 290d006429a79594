"""What only utility hangs on: prices that follow from a share or an accuracy, and from how many users an item is found.

It sees public numbers alone. What is drawn, charged and stated follows from what it returns, whatever that is.
"""
