declare module 'fs-native-extensions' {
  /** `tryLock` locks a file for this descriptor; returns false if another descriptor holds the lock. */
  const extensions: { readonly tryLock: (fd: number) => boolean };
  export default extensions;
}
