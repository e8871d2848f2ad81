/**
 * Loaded into every test process: the processes it starts write no coverage. A process that is killed leaves half a file,
 * which the report cannot read, and for a short one the writing takes longer than its work.
 */
delete process.env.NODE_V8_COVERAGE;
