import { createRepository, relatedRow } from '../../../src/gateway/index.ts';
import { Book, books } from './book.ts';
import { builder, Node, scope, store, table } from './shop.ts';

const sorts = { id: 'Order by id.' };
const filters = () => ({});
const tags = createRepository(table('Tag'), { inputs: { name: {} }, filters, sorts });
const bookTags = createRepository(table('BookTag'), {
  inputs: { bookId: { missing: books.notFound }, tagId: { missing: tags.notFound } },
  filters,
  sorts,
});
const Tag = builder.prismaObject('Tag', {
  interfaces: [Node],
  fields: (t) => ({ id: t.exposeID('id'), name: t.exposeString('name') }),
});
const BookTag = builder.prismaObject('BookTag', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    book: t.field({
      type: Book,
      description: 'The book.',
      ...relatedRow(books.required, 'bookId'),
    }),
    tag: t.field({ type: Tag, description: 'The tag.', ...relatedRow(tags.required, 'tagId') }),
  }),
});
const ofTag = store.fieldsOf(Tag, tags);
const ofBookTag = store.fieldsOf(BookTag, bookTags);
builder.prismaObjectField('Book', 'tags', (t) =>
  t.connection(...ofBookTag.listBy(books, 'bookId', 'The tags of this book.')),
);
builder.queryFields((t) => ({
  tags: t.connection(...ofTag.list),
  bookTag: t.field(ofBookTag.row),
  bookTags: t.connection(...ofBookTag.list),
}));
builder.mutationFields((t) => ({
  createTag: t.field({ ...ofTag.create(), scope }),
  deleteTag: t.field({ ...ofTag.delete(), scope }),
  createBookTags: t.field({ ...ofBookTag.createMany(), scope }),
  updateBookTags: t.field({ ...ofBookTag.updateMany(), scope }),
}));
