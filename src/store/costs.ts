// The change log has the texts of a row before and after: PostgreSQL takes as long to record one of 255
// characters, a kilobyte, as to read ten fields of rows.
export const PET_WRITE_COST = { directives: { cost: { weight: '120' } } };
export const CATEGORY_WRITE_COST = { directives: { cost: { weight: '280' } } };

/** The cost of a condition about the stock of pets: PostgreSQL may read the whole stock, even for few pets. */
export const STOCK_SEARCH_COST = { directives: { cost: { weight: '1000' } } };
