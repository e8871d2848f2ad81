/**
 * Work that seldom has to wait, done at once where nothing has to be waited for. Profiles of children are made this way: children
 * then start in the order of their calls, and a rerun, which loads nothing, starts them at the same moments.
 */

/** Continues with a value at once, and with that of a promise when it is there. */
export function andThen<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The values themselves, unless one of them is a promise. */
export function allOf<Value>(values: readonly (Value | Promise<Value>)[]): readonly Value[] | Promise<Value[]> {
  const isPresent = (value: Value | Promise<Value>): value is Value => !(value instanceof Promise);
  return values.every(isPresent) ? values : Promise.all(values);
}
