interface Asked {
  exec: () => Promise<unknown>;
}

/**
 * Runs `act` just before the next query made by `model[method]` is sent to the database. This makes another request's effect arrive at the worst moment, every
 * time. For races that parallel requests rarely trigger.
 */
export function meet<K extends string>(model: Record<K, (...args: never[]) => unknown>, method: K, act: () => Promise<unknown>): void {
  const real = model[method];
  model[method] = function once(this: unknown, ...args: never[]): unknown {
    model[method] = real;
    const query = Reflect.apply(real, this, args) as Asked;
    const exec = query.exec.bind(query);
    query.exec = async () => {
      await act();
      return exec();
    };
    return query;
  };
}
