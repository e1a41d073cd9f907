// What users may do: a few permissions, each a bit, so that a request is checked by one comparison.

export const PERMISSIONS = ['read', 'payments', 'refunds', 'standalone-refunds', 'vault'] as const;

export type Permission = (typeof PERMISSIONS)[number];

export function isPermission(name: string): name is Permission {
  return (PERMISSIONS as readonly string[]).includes(name);
}

export function bitOf(permission: Permission): number {
  return 1 << PERMISSIONS.indexOf(permission);
}

export function bitsOf(permissions: readonly Permission[]): number {
  return permissions.reduce((bits, permission) => bits | bitOf(permission), 0);
}

/** Each once, and in the order of the table. */
export function inOrder(permissions: readonly Permission[]): Permission[] {
  return PERMISSIONS.filter((permission) => permissions.includes(permission));
}
