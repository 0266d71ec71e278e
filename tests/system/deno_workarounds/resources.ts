/** Returns the number of the runtime's resources of this name, such as `tcpStream`. */
export function countResources(name: string): number {
  const { core } = Reflect.get(Deno, Reflect.get(Deno, "internal"));
  return Object.values(core.resources()).filter((resource) => resource === name).length;
}
