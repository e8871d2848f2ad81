/** An object around another one: what is not changed is passed on. */
export function changed<Target extends object>(target: Target, changes: Partial<Target>): Target {
  return new Proxy(target, {
    get(inner, name): unknown {
      if (name in changes) return Reflect.get(changes, name);
      const value: unknown = Reflect.get(inner, name);
      return typeof value === "function" ? value.bind(inner) : value;
    },
  });
}
