/** Returns how many resources of this name the runtime holds, such as `tcpStream`. */
export function countResources(name: string): number {
  const { core } = Reflect.get(Deno, Reflect.get(Deno, "internal"));
  return Object.values(core.resources()).filter((resource) => resource === name).length;
}
