/** For the test that compares the page with the figures. */
export declare function publishedFiles(root: string): Readonly<Record<string, string>>;
